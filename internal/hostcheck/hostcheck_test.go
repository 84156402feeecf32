package hostcheck_test

import (
	"testing"

	"strata/internal/hostcheck"
)

func TestAllowed(t *testing.T) {
	for host, want := range map[string]bool{"127.0.0.1:4470": true, "localhost": true, "a.localhost:1": true, "[::1]:1": true, "::1": true, "strata:4470": true,
		"host.docker.internal:4470": true, "LOCALHOST.": true, "10.1.2.3": true, "": true,
		"evil.test": false, "evil.test:4470": false, "localhost.evil.test": false, "127.0.0.1.evil.test": false, "internal.evil.test": false, "evil.xlocalhost": false, "evil.xinternal": false,
		"ok.example:80": true, "OK.example": true} {
		if got := hostcheck.Allowed(host, []string{"ok.example"}); got != want {
			t.Errorf("Allowed(%q) = %v", host, got)
		}
	}
}

func TestOriginAllowed(t *testing.T) {
	extra := []string{"http://app.test:3000", "https://ok.test/"}
	for origin, want := range map[string]bool{"http://app.test:3000": true, "https://ok.test": true, "HTTPS://OK.test": true,
		"http://ok.test": false, "http://app.test": false, "null": false, "": false, "https://ok.test.evil": false} {
		if got := hostcheck.OriginAllowed(origin, extra); got != want {
			t.Errorf("OriginAllowed(%q) = %v", origin, got)
		}
	}
	if !hostcheck.OriginAllowed("null", []string{"*"}) || hostcheck.OriginAllowed("", []string{"*"}) {
		t.Error("* stands for any origin, not for none")
	}
}
