package cli

import "testing"

func TestWindow(t *testing.T) {
	models, err := parseModels("gpt-4o-mini=16000, gpt-4o*=128000,qwen?=32000")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"gpt-4o-mini": 16000, "gpt-4o": 128000, "gpt-4o-2024": 128000, "gpt-4o/eu": 128000, "qwen2": 32000, "qwen": 0, "": 0} {
		if got := models.Window(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
	if models.String() != "gpt-4o-mini=16000,gpt-4o*=128000,qwen?=32000" {
		t.Errorf("%s", models)
	}
	for _, bad := range []string{"a", "a=", "a=0", "[=1", "=1"} {
		if _, err := parseModels(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
