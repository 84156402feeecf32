package ids_test

import (
	"regexp"
	"slices"
	"testing"
	"time"

	"strata/internal/ids"
)

func TestIDs(t *testing.T) {
	shape := regexp.MustCompile(`^req_[0-9a-f]{24}$`)
	at := time.UnixMilli(1_790_000_000_000)
	var list []string
	for i := range 1000 {
		id := ids.NewAt("req", at.Add(time.Duration(i)*time.Millisecond))
		if !shape.MatchString(id) || !shape.MatchString(ids.New("req")) {
			t.Fatal(id)
		}
		list = append(list, id)
	}
	if !slices.IsSorted(list) {
		t.Error("ids of later times do not come later")
	}
	for _, make := range []func() string{func() string { return ids.New("req") }, func() string { return ids.NewAt("req", at) }} {
		if one, other := make(), make(); one == other {
			t.Errorf("twice %s", one)
		}
	}
}
