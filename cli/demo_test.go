package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"strata/cli"
)

// The demo is the first thing a user runs; it checks itself.
func TestDemo(t *testing.T) {
	for lang, words := range map[string]string{"en": "steps came out as they should", "zh": "工龄满三年的为20天"} {
		t.Run(lang, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := cli.Main([]string{"demo", "--lang", lang}, strings.NewReader(""), &out, &errs); code != 0 {
				t.Errorf("exit code %d: %s\n%s", code, errs.String(), out.String())
			}
			if !strings.Contains(out.String(), words) {
				t.Errorf("no %q in\n%s", words, out.String())
			}
			if errs.Len() > 0 {
				t.Errorf("on standard error: %s", errs.String())
			}
		})
	}
	var out, errs bytes.Buffer
	if code := cli.Main([]string{"demo", "--lang", "fr"}, strings.NewReader(""), &out, &errs); code != 2 || !strings.Contains(errs.String(), "choose en or zh") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}
