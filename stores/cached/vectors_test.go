package cached

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func openVectors(t testing.TB, maxBytes int64) *Vectors {
	t.Helper()
	v, err := NewVectors(maxBytes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func TestVectors(t *testing.T) {
	v := openVectors(t, 0)
	if _, ok := v.Get("s1", "annual leave"); ok {
		t.Error("found before it was set")
	}
	for i, at := range [][2]string{{"s1", "annual leave"}, {"s2", "annual leave"}, {"s1", "年假"}, {"s", "1annual leave"}, {"", "s1annual leave"}} {
		v.Set(at[0], at[1], []float32{float32(i), 1})
	}
	v.held.Wait()
	for i, at := range [][2]string{{"s1", "annual leave"}, {"s2", "annual leave"}, {"s1", "年假"}, {"s", "1annual leave"}, {"", "s1annual leave"}} {
		if got, ok := v.Get(at[0], at[1]); !ok || !slices.Equal(got, []float32{float32(i), 1}) {
			t.Errorf("%q: %v, %v", at, got, ok)
		}
	}
	v.Set("s1", "annual leave", []float32{9})
	v.held.Wait()
	if got, ok := v.Get("s1", "annual leave"); !ok || got[0] != 9 {
		t.Errorf("set again: %v, %v", got, ok)
	}
	if _, ok := v.Get("s1", "annual leav"); ok {
		t.Error("found for another text")
	}
}

// Two texts that fall on one key of the table are not taken for each other.
func TestVectorsCompareTheWholeDigest(t *testing.T) {
	v := openVectors(t, 0)
	other := digestOf("s", "mine")
	other[len(other)-1] ^= 1
	v.held.SetWithTTL(other.key(), &vector{other, []float32{1}}, 1, time.Hour)
	v.held.Wait()
	if got, ok := v.Get("s", "mine"); ok {
		t.Errorf("another text's vector: %v", got)
	}
}

func TestVectorsVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, err := NewVectors(0)
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		v.Set("s", "a", []float32{1})
		v.held.Wait()
		time.Sleep(keepVector - time.Second)
		if _, ok := v.Get("s", "a"); !ok {
			t.Error("gone too early")
		}
		time.Sleep(2 * time.Second)
		if _, ok := v.Get("s", "a"); ok {
			t.Error("still there")
		}
	})
}

func TestVectorsKeepNothing(t *testing.T) {
	v := openVectors(t, -1)
	v.Set("s", "a", []float32{1})
	if _, ok := v.Get("s", "a"); ok {
		t.Error("something was kept")
	}
}

func TestVectorsStayWithinBytes(t *testing.T) {
	const most = 1 << 20
	v := openVectors(t, most)
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := range 2000 {
				text := fmt.Sprint(worker, i)
				v.Set("s", text, make([]float32, 512))
				if got, ok := v.Get("s", text); ok && len(got) != 512 {
					t.Errorf("%d values", len(got))
				}
			}
		})
	}
	all.Wait()
	v.held.Wait()
	if left := v.held.RemainingCost(); left < 0 || left > most/2 {
		t.Errorf("%d of %d bytes left", left, most)
	}
}

func TestVectorsAfterClose(t *testing.T) {
	v, err := NewVectors(0)
	if err != nil {
		t.Fatal(err)
	}
	v.Close()
	v.Set("s", "a", []float32{1})
	if _, ok := v.Get("s", "a"); ok {
		t.Error("found after closing")
	}
}

func BenchmarkVectorsGet(b *testing.B) {
	v := openVectors(b, 0)
	v.Set("s", "How many days of annual leave do employees get?", make([]float32, 512))
	v.held.Wait()
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := v.Get("s", "How many days of annual leave do employees get?"); !ok {
			b.Fatal("gone")
		}
	}
}
