package proxy

import (
	"testing"
	"time"
)

// A store that falls behind does not fill the log.
func TestLateRecordsAreToldNowAndThen(t *testing.T) {
	var l lateRecords
	at := time.Now()
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 1}, {time.Second, 0}, {2 * time.Second, 0}, {lateEvery, 3}, {lateEvery + 1, 0}, {3 * lateEvery, 2}} {
		if got := l.count(at.Add(tt.after)); got != tt.want {
			t.Errorf("after %v: %d are told, want %d", tt.after, got, tt.want)
		}
	}
}
