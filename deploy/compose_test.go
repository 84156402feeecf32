package deploy_test

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"strata/internal/weaviateserver"
)

type service struct {
	Build           string            `json:"build"`
	Image           string            `json:"image"`
	Command         []string          `json:"command"`
	Environment     map[string]string `json:"environment"`
	Ports           []string          `json:"ports"`
	Volumes         []string          `json:"volumes"`
	StopGracePeriod string            `json:"stop_grace_period"`
	Restart         string            `json:"restart"`
	Ulimits         map[string]int    `json:"ulimits"`
}

func compose(t *testing.T) (strata, weaviate service) {
	t.Helper()
	b, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service        `json:"services"`
		Volumes  map[string]map[string]any `json:"volumes"`
	}
	if err := yaml.UnmarshalStrict(b, &file); err != nil {
		t.Fatal(err)
	}
	for name, s := range file.Services {
		for _, v := range s.Volumes {
			volume, _, _ := strings.Cut(v, ":")
			if _, there := file.Volumes[volume]; !there {
				t.Errorf("%s: the volume %s is not declared", name, volume)
			}
		}
	}
	return file.Services["strata"], file.Services["weaviate"]
}

// The server is the one that is tested, set up as it is tested.
func TestComposeWeaviate(t *testing.T) {
	strata, weaviate := compose(t)
	if want := "semitechnologies/weaviate:" + weaviateserver.Version; weaviate.Image != want {
		t.Errorf("the image is %s, want %s", weaviate.Image, want)
	}
	for _, tested := range weaviateserver.Settings() {
		name, value, _ := strings.Cut(tested, "=")
		if got, there := weaviate.Environment[name]; !there || got != value {
			t.Errorf("%s is %q, tested is %q", name, got, value)
		}
	}
	if weaviate.Ulimits["nofile"] < 10_000 {
		t.Errorf("the server may open %d files", weaviate.Ulimits["nofile"])
	}
	if len(weaviate.Ports) > 0 {
		t.Errorf("Weaviate is published: %v", weaviate.Ports)
	}
	key := "STRATA_INDEX_API_KEY"
	if !strings.HasPrefix(strata.Environment[key], "${"+key+":?") || !strings.HasPrefix(weaviate.Environment["AUTHENTICATION_APIKEY_ALLOWED_KEYS"], "${"+key+":?") {
		t.Error("a key that is not set must end the start")
	}
}

// Only this machine reaches Strata, since whoever reaches it is trusted.
func TestComposeStrata(t *testing.T) {
	strata, _ := compose(t)
	for _, port := range strata.Ports {
		if !strings.HasPrefix(port, "127.0.0.1:") {
			t.Errorf("published at %s", port)
		}
	}
	if strata.Environment["STRATA_INDEX_URL"] != "http://weaviate:8080" || strata.Environment["STRATA_AUTH_MODE"] != "trusted-network" {
		t.Errorf("Strata runs with %v", strata.Environment)
	}
}
