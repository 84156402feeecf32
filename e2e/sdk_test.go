package e2e_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"mime"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// abortedModel is answered by a stream that lasts far longer than any client
// of these tests reads.
const abortedModel = "endless"

// scenarios are what every client goes through, in this order; abort is last.
var scenarios = []string{
	"chat", "stream", "stream_usage", "tools", "structured", "embeddings", "models", "upload", "image",
	"transcription", "speech", "error_401", "error_429", "error_500", "abort",
}

// inputs are the files and texts that the clients send.
type inputs struct {
	Upload string // path of 3 MB
	Audio  string // path of 200 KB
	Image  string // data URL of 48 KB
}

func makeInputs(t testing.TB) inputs {
	t.Helper()
	dir := t.TempDir()
	random := rand.NewChaCha8([32]byte{'e', '2', 'e'})
	file := func(name string, size int) string {
		b := make([]byte, size)
		_, _ = random.Read(b) // never fails
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	picture := make([]byte, 48<<10)
	_, _ = random.Read(picture)
	return inputs{
		Upload: file("notes.jsonl", 3<<20),
		Audio:  file("voice.mp3", 200<<10),
		Image:  "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture),
	}
}

// outcome is all that a user of a client sees of a scenario, as JSON.
type outcome = json.RawMessage

// A client runs all scenarios against a base URL.
type client struct {
	name string
	run  func(t *testing.T, baseURL string, in inputs) map[string]outcome
}

func TestClientsSeeTheSameThroughStrata(t *testing.T) {
	for _, c := range []client{
		{"go-openai", runGoOpenAI},
		{"openai-node", runNode},
		{"openai-python", runPython},
		{"curl", runCurl},
	} {
		t.Run(c.name, func(t *testing.T) { compareClient(t, c) })
	}
}

func compareClient(t *testing.T, c client) {
	up := upstreamtest.New(t, apiWithAbort())
	in := makeInputs(t)
	direct := c.run(t, "http://"+up.Addr()+"/v1", in)
	sentDirect := received(t, up)
	up.Forget()

	p := start(t, up.Addr())
	through := c.run(t, "http://"+p.addr+"/v1", in)
	sentThrough := received(t, up)
	p.stop(t)

	for _, name := range scenarios {
		if direct[name] == nil {
			t.Errorf("%s: the client did not run it", name)
		}
		if got, want := string(through[name]), string(direct[name]); got != want {
			t.Errorf("%s: through Strata the user sees\n%s\nwithout it\n%s", name, cut(got), cut(want))
		}
	}
	compareRequests(t, sentThrough, sentDirect)
}

// apiWithAbort is the fake API with a model whose stream does not end soon.
func apiWithAbort() upstreamtest.Handler {
	api := upstreamtest.OpenAI()
	endless := upstreamtest.ChatStream(slices.Repeat([]string{"word "}, 4000), 5*time.Millisecond)
	return func(r *upstreamtest.Request) *upstreamtest.Script {
		var named struct {
			Model string `json:"model"`
		}
		if json.Unmarshal(r.Body, &named) == nil && named.Model == abortedModel {
			return endless
		}
		return api(r)
	}
}

// seen is a request as upstream got it, without what a hop may change and
// what a client makes up anew for each request.
type seen struct {
	line    string // method and target
	headers []string
	body    string
}

// received waits for the end of every request and returns them. The aborted
// stream must have been left early.
func received(t *testing.T, up *upstreamtest.Server) []seen {
	t.Helper()
	var all []seen
	aborted := 0
	for _, r := range up.Requests() {
		select {
		case <-r.Done():
		case <-time.After(patience):
			t.Fatalf("%s %s: the client is gone and upstream still answers", r.Method, r.Target)
		}
		if bytes.Contains(r.Body, []byte(abortedModel)) {
			aborted++
			if n := r.LeftAfter(); n < 0 || n >= 4000 {
				t.Errorf("upstream did not see the client leave the aborted stream (%d of 4000 events)", n)
			}
		}
		all = append(all, normalise(r))
	}
	if aborted != 1 {
		t.Errorf("upstream got %d aborted streams, want 1", aborted)
	}
	if bad := up.Malformed(); len(bad) > 0 {
		t.Errorf("upstream got malformed requests: %q", bad)
	}
	return all
}

func normalise(r *upstreamtest.Request) seen {
	boundary := "\x00"
	if _, params, err := mime.ParseMediaType(r.Get("Content-Type")); err == nil && params["boundary"] != "" {
		boundary = params["boundary"]
	}
	s := seen{line: r.Method + " " + r.Target, body: strings.ReplaceAll(string(r.Body), boundary, "BOUNDARY")}
	for _, h := range r.Headers {
		switch strings.ToLower(h.Name) {
		case "host", "connection", "keep-alive", "expect":
			continue
		case "transfer-encoding": // each hop frames, and so spells, by itself
			h.Name = "Transfer-Encoding"
		}
		s.headers = append(s.headers, h.Name+": "+strings.ReplaceAll(h.Value, boundary, "BOUNDARY"))
	}
	return s
}

func compareRequests(t *testing.T, got, want []seen) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("upstream got %d requests through Strata, %d without it", len(got), len(want))
	}
	for i := range want {
		if got[i].line != want[i].line {
			t.Fatalf("request %d: got %q, want %q", i, got[i].line, want[i].line)
		}
		if got[i].body != want[i].body {
			t.Errorf("%s: the body differs\ngot  %s\nwant %s", want[i].line, cut(got[i].body), cut(want[i].body))
		}
		if !slices.Equal(got[i].headers, want[i].headers) {
			t.Errorf("%s: headers differ\ngot  %q\nwant %q", want[i].line, got[i].headers, want[i].headers)
		}
	}
}

// cut shortens a text, which may be bytes, for a failure message.
func cut(text string) string {
	if len(text) > 1500 {
		return fmt.Sprintf("%q and %d bytes more", text[:1500], len(text)-1500)
	}
	return fmt.Sprintf("%q", text)
}

// runScript runs a client program that prints one JSON object, scenario by
// scenario, and hands it its inputs as variables.
func runScript(t *testing.T, cmd *exec.Cmd, baseURL string, in inputs) map[string]outcome {
	t.Helper()
	imageFile := filepath.Join(t.TempDir(), "image.txt") // too long for a variable
	if err := os.WriteFile(imageFile, []byte(in.Image), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(os.Environ(),
		"OPENAI_BASE_URL="+baseURL, "OPENAI_API_KEY=sk-e2e", "NO_PROXY=*", "no_proxy=*",
		"E2E_UPLOAD="+in.Upload, "E2E_AUDIO="+in.Audio, "E2E_IMAGE="+imageFile, "E2E_ABORTED_MODEL="+abortedModel,
	)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, &stderr)
	}
	var outcomes map[string]outcome
	if err := json.Unmarshal(out, &outcomes); err != nil {
		t.Fatalf("%s printed no JSON object: %v\n%s", cmd, err, out)
	}
	return outcomes
}

func runNode(t *testing.T, baseURL string, in inputs) map[string]outcome {
	const fix = "install Node.js 20 or later with npm"
	node := tool(t, "node", fix)
	npm := tool(t, "npm", fix)
	dir := install(t, recipe{
		name: "node", tool: node, fix: fix,
		pins: []string{"node/package.json", "node/package-lock.json"},
		steps: func(string) []*exec.Cmd {
			return []*exec.Cmd{exec.Command(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")}
		},
	})
	cmd := exec.Command(node, "node/client.mjs", dir)
	return runScript(t, cmd, baseURL, in)
}

func runPython(t *testing.T, baseURL string, in inputs) map[string]outcome {
	const fix = "install Python 3.10 or later with its venv module"
	python := tool(t, "python3", fix)
	dir := install(t, recipe{
		name: "python", tool: python, fix: fix,
		pins: []string{"python/requirements.txt"},
		steps: func(dir string) []*exec.Cmd {
			return []*exec.Cmd{
				exec.Command(python, "-m", "venv", "venv"),
				exec.Command(filepath.Join(dir, "venv/bin/python"), "-m", "pip", "install", "--quiet",
					"--no-input", "--disable-pip-version-check", "-r", "requirements.txt"),
			}
		},
	})
	cmd := exec.Command(filepath.Join(dir, "venv/bin/python"), "python/client.py")
	return runScript(t, cmd, baseURL, in)
}
