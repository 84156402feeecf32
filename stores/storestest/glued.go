package storestest

import (
	"testing"

	"strata/stores"
)

// Letters and digits as one word find those in two, and the other way round;
// where a document has them as they are asked for, that counts alone.
func indexGluedWords(t *testing.T, open func() indexTest) {
	x := open()
	defer x.close()
	x.put("T1",
		stores.Passage{ID: "iso", Title: "Certificates", Text: "The certificate for ISO-27001 is renewed each March; 证书每年三月更新。"},
		stores.Passage{ID: "phone", Title: "设备", Text: "公司发放的 iPhone15 由总务部统一保修，保修期两年。"},
		stores.Passage{ID: "level", Title: "分级", Text: "严重程度 PL 2 的故障须在四小时内修复。"},
		stores.Passage{ID: "rtx", Title: "Cards", Text: "RTX4090 cards go to the laboratory."},
		stores.Passage{ID: "cards", Title: "Cards", Text: "RTX 4090 cards of the office are lent for a week. The card is returned with its box, its cable and the form, and the office writes down when."},
		stores.Passage{ID: "other", Title: "Rooms", Text: "Room 27001 has a phone and 15 chairs; 会议室每年粉刷一次。"},
	)
	for query, want := range map[string]string{
		"ISO27001": "iso", "ISO27001认证哪一年更新": "iso", "iso 27001": "iso",
		"iPhone 15 怎么保修": "phone", "iPhone15": "phone", "PL2 故障多久修复": "level",
		"who gets rtx4090": "rtx", "who gets RTX 4090": "cards",
	} {
		hits := x.search("T1", query, 3)
		if len(hits) == 0 || hits[0].ID != want {
			t.Errorf("%s: %v, want %s first", query, hits, want)
		} else if hits[0].Cover < 0.25 {
			t.Errorf("%s: cover %.2f", query, hits[0].Cover)
		}
	}
	for _, query := range []string{"ISO27002", "PL3", "4090RTX"} {
		if hits := x.search("T1", query, 3); len(hits) > 0 {
			t.Errorf("%q finds %v", query, hits)
		}
	}
}
