package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"strata/admin"
)

func config() admin.Config {
	return admin.Config{Token: "t", Loopback: true, NotReady: func() string { return "" }, Metrics: http.NotFoundHandler(), AllowOrigins: []string{"http://ok.test"}}
}

func TestDoor(t *testing.T) {
	h := admin.New(config())
	for _, c := range []struct {
		name, method, path string
		headers            map[string]string
		want               int
		code               string
	}{
		{"health without a token", "GET", "/livez", nil, 200, ""},
		{"ready", "GET", "/readyz", nil, 200, ""},
		{"no token", "GET", "/v1/x", nil, 401, "invalid_token"},
		{"wrong token", "GET", "/v1/x", map[string]string{"Authorization": "Bearer tt"}, 401, "invalid_token"},
		{"not bearer", "GET", "/v1/x", map[string]string{"Authorization": "t"}, 401, "invalid_token"},
		{"unknown path", "GET", "/v1/x", map[string]string{"Authorization": "Bearer t"}, 404, "not_found"},
		{"rebinding", "GET", "/livez", map[string]string{"Host": "evil.test:4471"}, 403, "host_not_allowed"},
		{"foreign page", "GET", "/livez", map[string]string{"Origin": "http://evil.test"}, 403, "origin_not_allowed"},
		{"foreign page without origin", "GET", "/livez", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403, "origin_not_allowed"},
		{"own page", "GET", "/livez", map[string]string{"Origin": "http://127.0.0.1:4471"}, 200, ""},
		{"listed page", "GET", "/livez", map[string]string{"Origin": "http://ok.test"}, 200, ""},
		{"a form", "POST", "/v1/x", map[string]string{"Authorization": "Bearer t", "Content-Type": "text/plain"}, 415, "unsupported_media_type"},
		{"JSON", "POST", "/v1/x", map[string]string{"Authorization": "Bearer t", "Content-Type": "application/json; charset=utf-8"}, 404, "not_found"},
		{"PUT", "PUT", "/v1/x", map[string]string{"Authorization": "Bearer t", "Content-Type": "text/markdown"}, 404, "not_found"},
	} {
		req := httptest.NewRequest(c.method, c.path, nil)
		req.Host = "127.0.0.1:4471"
		for k, v := range c.headers {
			req.Header.Set(k, v)
			if k == "Host" {
				req.Host = v
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != c.want || !strings.Contains(w.Body.String(), c.code) {
			t.Errorf("%s: %d %s, want %d %s", c.name, w.Code, w.Body, c.want, c.code)
		}
		if w.Code >= 400 && !strings.HasPrefix(w.Body.String(), `{"error":{"message":`) {
			t.Errorf("%s: not OpenAI's error shape: %s", c.name, w.Body)
		}
	}
}

func TestNotReady(t *testing.T) {
	cfg := config()
	cfg.NotReady = func() string { return "draining" }
	w := httptest.NewRecorder()
	admin.Health(cfg).ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1:4472/readyz", nil))
	if w.Code != 503 || !strings.Contains(w.Body.String(), "draining") {
		t.Errorf("%d %s, want 503 and the reason", w.Code, w.Body)
	}
}

// The health listener has no token to ask for, so it must have nothing else.
func TestHealthAlone(t *testing.T) {
	open := config()
	open.Loopback = false
	for _, c := range []struct {
		name string
		cfg  admin.Config
		url  string
		want int
	}{
		{"alive", config(), "http://127.0.0.1:4472/livez", 200},
		{"the control plane", config(), "http://127.0.0.1:4472/v1/users", 404},
		{"rebinding", config(), "http://evil.test:4472/metrics", 403},
		{"a probe by a public name", open, "http://pod.example.com:4472/livez", 200},
	} {
		w := httptest.NewRecorder()
		admin.Health(c.cfg).ServeHTTP(w, httptest.NewRequest("GET", c.url, nil))
		if w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
}

// The Host header decides on loopback alone: elsewhere names are real ones.
func TestHostBeyondLoopback(t *testing.T) {
	cfg := config()
	cfg.Loopback = false
	w := httptest.NewRecorder()
	admin.New(cfg).ServeHTTP(w, httptest.NewRequest("GET", "http://strata.example.com/livez", nil))
	if w.Code != 200 {
		t.Errorf("%d %s, want 200", w.Code, w.Body)
	}
}
