package weaviate

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"
)

func TestIdleTenants(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	for _, tt := range []struct {
		name    string
		before  int
		most    int
		goes    []string
		remains int
	}{
		{"all are in use", 0, -1, nil, 6},
		{"some are not", 3, -1, []string{"a/t0", "a/t2", "b/t1"}, 3},
		{"too many", 0, 4, []string{"a/t0", "b/t1"}, 4},
		{"as many as may be", 0, 6, nil, 6},
		{"some unused, and too many", 1, 3, []string{"a/t0", "a/t2", "b/t1"}, 3},
		{"unused, and few enough", 3, 5, []string{"a/t0", "a/t2", "b/t1"}, 3},
		{"none may stay", 0, 0, []string{"a/t0", "a/t2", "a/t4", "b/t1", "b/t3", "b/t5"}, 0},
	} {
		s := tenants{used: map[place]time.Time{}}
		for i := range 6 {
			s.touch(place{[]string{"a", "b"}[i%2], fmt.Sprint("t", i)}, at(i))
		}
		var got []string
		for c, names := range s.idle(at(tt.before), tt.most) {
			for _, name := range names {
				got = append(got, c+"/"+name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, tt.goes) || len(s.used) != tt.remains {
			t.Errorf("%s: %v go, %v remain", tt.name, got, slices.Collect(maps.Keys(s.used)))
		}
	}
}
