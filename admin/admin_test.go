package admin_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"strata/admin"
)

func config() admin.Config {
	return admin.Config{Token: "t", Loopback: true, Ready: func() bool { return true }, Metrics: http.NotFoundHandler(), AllowOrigins: []string{"http://ok.test"}}
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
	cfg.Ready = func() bool { return false }
	w := httptest.NewRecorder()
	admin.Health(cfg).ServeHTTP(w, httptest.NewRequest("GET", "/readyz", nil))
	if w.Code != 503 {
		t.Errorf("%d", w.Code)
	}
	w = httptest.NewRecorder()
	admin.Health(cfg).ServeHTTP(w, httptest.NewRequest("GET", "/v1/users", nil))
	if w.Code != 404 {
		t.Errorf("the health listener serves more than health: %d", w.Code)
	}
}
