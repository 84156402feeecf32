package ingest_test

import (
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/ingest"
)

// nested are small PDFs whose reader does the same again and again: nested
// brackets that a page tree names thousands of times, each time to be read anew,
// and such that are a thousand times as many once unpacked.
func nested(t testing.TB) map[string][]byte {
	t.Helper()
	brackets := strings.Repeat("[", 900) + strings.Repeat("]", 900)
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	for range 40_000 {
		if _, err := z.Write([]byte(brackets + " n ")); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"named again": smallPDF(strings.Repeat("3 0 R ", 25_000), "["+strings.Repeat(brackets, 80)+"]"),
		"packed": smallPDF("3 0 R", "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>",
			fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", packed.Len(), &packed)),
	}
}

// smallPDF has a page tree of kids, and objects from the third one on.
func smallPDF(kids string, objects ...string) []byte {
	var b bytes.Buffer
	var offsets []int
	b.WriteString("%PDF-1.4\n")
	for _, o := range append([]string{"<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [" + kids + "] /Count 1 >>"}, objects...) {
		offsets = append(offsets, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", len(offsets), o)
	}
	at := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(offsets)+1)
	for _, o := range offsets {
		fmt.Fprintf(&b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(offsets)+1, at)
	return b.Bytes()
}

// A small file that keeps its reader busy for long is given up for that, and
// soon.
func TestSmallFilesThatTakeLong(t *testing.T) {
	for name, body := range nested(t) {
		t.Run(name, func(t *testing.T) {
			if len(body) > 400<<10 {
				t.Fatalf("%d bytes are not small", len(body))
			}
			w := worker(ingest.WorkerCommand)
			w.Busy, w.Time = time.Nanosecond, time.Minute // what its size allows is left
			f, _ := apart(t, w)
			_, err := f.Put(t.Context(), "t1", ingest.Source{ID: "a.pdf", Body: body})
			if !errors.Is(err, ingest.ErrLimit) || !strings.Contains(err.Error(), "processor time") {
				t.Errorf("%v", err)
			}
		})
	}
}

// What a reader may take goes by the size of its file.
func TestTimeBySize(t *testing.T) {
	for size, want := range map[int64]time.Duration{0: 30 * time.Second, 300 << 10: 36 * time.Second, 1 << 20: 50 * time.Second, 30 << 20: 630 * time.Second} {
		if got := ingest.BusyFor(size); got.Round(time.Second) != want {
			t.Errorf("%d bytes: %v, want %v", size, got, want)
		}
	}
}
