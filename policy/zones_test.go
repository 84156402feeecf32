package policy

import (
	"fmt"
	"testing"
	"time"
)

func TestZones(t *testing.T) {
	var z Zones
	other := time.FixedZone("other", 3600)
	for range 2 {
		if got := z.Find("Asia/Shanghai", other); got.String() != "Asia/Shanghai" {
			t.Errorf("Asia/Shanghai: %v", got)
		}
		for _, name := range []string{"", "Nowhere/Town", "../etc"} {
			if got := z.Find(name, other); got != other {
				t.Errorf("%q: %v, want the other zone", name, got)
			}
		}
	}
	for i := range 3 * maxZones {
		z.Find(fmt.Sprint("No/Zone", i), other)
	}
	if len(z.byID) > maxZones+1 {
		t.Errorf("%d wrong names are kept", len(z.byID))
	}
}
