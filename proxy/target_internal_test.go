package proxy

import (
	"net/url"
	"testing"
)

func TestJoin(t *testing.T) {
	for _, c := range []struct{ base, target, want string }{
		// One chat call, the ways providers write their base URL.
		{"http://up", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://up/", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://up/v1", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://up/v1/", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://up//v1//", "/v1/chat/completions", "/v1/chat/completions"},
		{"http://up/api/v1", "/v1/chat/completions", "/api/v1/chat/completions"},
		{"http://up/v1beta/openai/", "/v1/chat/completions", "/v1beta/openai/chat/completions"},
		{"http://up/compatible-mode/v1", "/v1/chat/completions", "/compatible-mode/v1/chat/completions"},
		{"http://up/compatible-mode/v1", "/v1/embeddings", "/compatible-mode/v1/embeddings"},
		{"http://up/gateway", "/v1/chat/completions", "/gateway/v1/chat/completions"},
		{"http://up/api/v3", "/v1/chat/completions", "/api/v3/chat/completions"},
		// A client whose own base URL has no version.
		{"http://up", "/chat/completions", "/chat/completions"},
		{"http://up/v1", "/chat/completions", "/v1/chat/completions"},
		// Slashes and versions doubled where a base URL was glued on.
		{"http://up/v1", "//v1/chat/completions", "/v1/chat/completions"},
		{"http://up/v1", "/v1//chat/completions", "/v1/chat/completions"},
		{"http://up/v1", "/v1/v1/chat/completions", "/v1/chat/completions"},
		{"http://up", "/v1/v1/models", "/v1/models"},
		// A client that spells the whole base path.
		{"http://up/api/v1", "/api/v1/models", "/api/v1/models"},
		{"http://up/v1beta/openai", "/v1beta/openai/models", "/v1beta/openai/models"},
		{"http://up/gateway", "/gateway/v1/models", "/gateway/v1/models"},
		// Other versions, Azure, roots, bytes that must stay.
		{"http://up/v1", "/v1beta/models/x:generate", "/v1beta/models/x:generate"},
		{"http://up/v1", "/v2/rerank", "/v2/rerank"},
		{"http://up/v1", "/openai/deployments/g/chat/completions?api-version=1", "/openai/deployments/g/chat/completions?api-version=1"},
		{"http://up/openai/v1", "/openai/deployments/g/embeddings", "/openai/deployments/g/embeddings"},
		{"http://up/corp/v1", "/openai/deployments/g/embeddings", "/corp/openai/deployments/g/embeddings"},
		{"http://up/corp", "/openai/deployments/g/embeddings", "/corp/openai/deployments/g/embeddings"},
		{"http://up", "/openai/deployments/g/chat/completions?api-version=1", "/openai/deployments/g/chat/completions?api-version=1"},
		{"http://up/v1", "/v1", "/v1"},
		{"http://up", "/", "/"},
		{"http://up", "/v1/files/a%2Fb//c?x=%20//y", "/v1/files/a%2Fb//c?x=%20//y"},
		{"http://up/v1", "http://other/v1/models?a=b", "/v1/models?a=b"},
		{"http://up/v1", "/v10/x", "/v10/x"},
		{"http://up/v1", "/videos", "/v1/videos"},
	} {
		u, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(newBase(u).join(nil, []byte(c.target))); got != c.want {
			t.Errorf("base %s, request %s: got %s, want %s", c.base, c.target, got, c.want)
		}
	}
}

func TestAPIBase(t *testing.T) {
	for base, want := range map[string]string{
		"http://up": "http://up/v1", "https://up:8443/": "https://up:8443/v1", "http://up/v1/": "http://up/v1", "http://up//api//v1": "http://up/api/v1",
		"http://up/gateway": "http://up/gateway/v1", "http://up/v1beta/openai": "http://up/v1beta/openai", "http://[::1]:80/api/v3": "http://[::1]:80/api/v3",
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := APIBase(u); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestIsChat(t *testing.T) {
	for target, want := range map[string]bool{
		"/v1/chat/completions":  true,
		"/v1/chat/completions/": true,
		"/chat/completions":     true,
		"/openai/deployments/x/chat/completions?api-version=2024-1": true,
		"/v1/chat/completions/chatcmpl-1":                           false,
		"/v1/completions":                                           false,
		"/v1/chat/completions-old":                                  false,
		"/v1/models?x=/chat/completions":                            false,
	} {
		if isChat([]byte(target)) != want {
			t.Errorf("isChat(%s) = %v", target, !want)
		}
	}
}
