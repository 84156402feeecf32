package policy

import (
	"strings"
	"testing"
)

func TestUnevenSpace(t *testing.T) {
	parts := []string{"a", " ", "\t", "\r", "\n", "　", "。", "word", "\x80", "\xff"}
	for pad := range 17 {
		for _, x := range parts {
			for _, y := range parts {
				text := strings.Repeat("w", pad) + x + y + strings.Repeat("v", 16-pad)
				want := strings.Contains(text, "  ") || strings.ContainsAny(text, "\t\r") || strings.Contains(text, "　")
				if got := unevenSpace(text); got != want {
					t.Fatalf("%q: %v", text, got)
				}
			}
		}
	}
}
