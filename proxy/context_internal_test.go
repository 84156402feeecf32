package proxy

import (
	"testing"
	"time"
)

func TestRefusing(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var r refusing
	r.add("m", at)
	r.add("m", at.Add(time.Minute))
	if r.blocked("m", at.Add(time.Minute)) {
		t.Error("blocked after two")
	}
	r.add("m", at.Add(12*time.Minute)) // the first is too old by now
	if r.blocked("m", at.Add(12*time.Minute)) {
		t.Error("blocked by three in twelve minutes")
	}
	r.add("m", at.Add(13*time.Minute))
	r.add("m", at.Add(14*time.Minute))
	if !r.blocked("m", at.Add(15*time.Minute)) || r.blocked("other", at.Add(15*time.Minute)) {
		t.Error("not blocked by three in two minutes, or another model is")
	}
	if r.blocked("m", at.Add(25*time.Minute)) {
		t.Error("still blocked after ten minutes")
	}
}
