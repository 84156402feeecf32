package cli_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "strata-cli")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "strata")
	if out, err := exec.Command("go", "build", "-o", binary, "strata").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s", out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// command is the binary in an empty folder and an empty environment but for
// env.
func command(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}, env...)
	return cmd
}

func run(t *testing.T, dir string, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	cmd := command(t, dir, env, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// A mistake that goes unnoticed serves for ever.
	defer time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() }).Stop()
	err := cmd.Wait()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Wrong use is one sentence that names key and fix, and exit code 2.
func TestMistakes(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	for _, c := range []struct {
		name, file string
		env, args  []string
		want       []string
	}{
		{"unknown key", "listen: 127.0.0.1:0\nupstream:\n  base_urk: http://x\n", nil, []string{"config", "check"}, []string{"strata.yaml:3", "upstream.base_urk", "did you mean upstream.base_url?"}},
		{"unknown top key", "lisen: x\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "lisen", "did you mean listen?"}},
		{"a key without its group", "base_url: x\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "base_url", "did you mean upstream.base_url?"}},
		{"unknown group", "\nupsteam: {base_url: x}\n", nil, []string{"config", "check"}, []string{"strata.yaml:2", "did you mean upstream?"}},
		{"a word like no key", "zzzzzzzzzz: 1\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "zzzzzzzzzz", "config init -"}},
		{"key twice", "mode: on\nmode: off\n", nil, []string{"config", "check"}, []string{"strata.yaml:2", "mode", "already at strata.yaml:1"}},
		{"key twice in two spellings", "drain: {max: 1s}\ndrain.max: 2s\n", nil, []string{"config", "check"}, []string{"strata.yaml:2", "drain.max", "already at strata.yaml:1"}},
		{"key twice in two documents", "mode: on\n---\nmode: off\n", nil, []string{"config", "check"}, []string{"strata.yaml:3", "already at strata.yaml:1"}},
		{"not YAML", "a: [\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "not valid YAML"}},
		{"a list at the top", "- a\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "keys and values"}},
		{"a value for a group", "upstream: http://x\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "upstream holds keys", "upstream.base_url"}},
		{"keys for a value", "mode: {a: b}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "mode", "one value"}},
		{"keys in a list", "allow_hosts: [{a: b}]\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "allow_hosts", "plain values"}},
		{"nothing in a list", "allow_hosts: [a, null]\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "allow_hosts", "plain values"}},
		{"alias", "listen: &a 127.0.0.1:0\nmode: *a\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "listen", "plain value"}},
		{"merge", "<<: {mode: off}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "plain value"}},
		{"secret file named twice", "upstream: {api_key: k, api_key_file: /x}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "upstream.api_key_file", "remove one"}},
		{"missing secret file of the file", "admin: {token_file: /nowhere/t}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "admin.token_file", "/nowhere/t"}},
		{"empty secret file", "", []string{"STRATA_UPSTREAM_API_KEY_FILE=/dev/null"}, []string{"serve"}, []string{"STRATA_UPSTREAM_API_KEY_FILE", "/dev/null is empty"}},
		{"secret with a line break", "", []string{"STRATA_UPSTREAM_API_KEY=u:p@\nx"}, []string{"serve"}, []string{"upstream.api_key", "STRATA_UPSTREAM_API_KEY", "line break"}},
		{"header limit", "limits:\n  header: 2KB\n", nil, []string{"config", "check"}, []string{"limits.header", "strata.yaml:2", "4KB to 1MB"}},
		{"no time to drain", "drain: {max: 0s}\n", nil, []string{"config", "check"}, []string{"drain.max", "positive"}},
		{"auth.mode", "", []string{"STRATA_AUTH_MODE=open"}, []string{"config", "check"}, []string{"auth.mode", "STRATA_AUTH_MODE", "trusted-network"}},
		{"admin without a port", "", []string{"STRATA_ADMIN_LISTEN=127.0.0.1"}, []string{"config", "check"}, []string{"admin.listen", "host:port"}},
		{"one address twice", "", []string{"STRATA_HEALTH_LISTEN=127.0.0.1:4471"}, []string{"config", "check"}, []string{"health.listen", "admin.listen", "another port"}},
		{"list for a value", "mode: [a]\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "mode", "no list"}},
		{"stage", "stage: all\n", nil, []string{"config", "check"}, []string{"stage", "route, summary, write, recall"}},
		{"preset", "identity: {preset: other}\n", nil, []string{"config", "check"}, []string{"identity.preset", "openwebui, librechat"}},
		{"body field", "identity: {body: [name]}\n", nil, []string{"config", "check"}, []string{"identity.body", `"name"`, "metadata"}},
		{"zone", "timezone: Mars\n", nil, []string{"config", "check"}, []string{"timezone", "Asia/Shanghai"}},
		{"tenant", "tenant: ''\n", nil, []string{"config", "check"}, []string{"tenant", "1 to 256"}},
		{"window", "models:\n  gpt-4o*: {window: big}\n", nil, []string{"config", "check"}, []string{"strata.yaml:2", "models", "128000"}},
		{"window key", "models:\n  gpt-4o*: {size: 1}\n", nil, []string{"config", "check"}, []string{"strata.yaml:2", "models.gpt-4o*", "window"}},
		{"windows by variable", "", []string{"STRATA_MODELS=gpt-4o"}, []string{"config", "check"}, []string{"models", "STRATA_MODELS", "gpt-4o*=128000"}},
		{"no budget", "plan: {rag: {budget: 0}}\n", nil, []string{"config", "check"}, []string{"plan.rag.budget", "at least 1"}},
		{"large budget", "plan: {rag: {budget: 99999999}}\n", nil, []string{"config", "check"}, []string{"plan.rag.budget", "99999999"}},
		{"deadline", "plan: {chat: {deadline: 1h}}\n", nil, []string{"config", "check"}, []string{"plan.chat.deadline", "1h"}},
		{"keyword of two kinds", "intent:\n  keywords:\n    rag: [报销]\n    data: [报销]\n", nil, []string{"config", "check"}, []string{"intent.keywords.data", "strata.yaml:4", "also one of rag"}},
		{"keyword of no word", "intent: {keywords: {rag: ['  ']}}\n", nil, []string{"config", "check"}, []string{"intent.keywords.rag", "strata.yaml:1", "no word"}},
		{"kind of keyword", "intent: {keywords: {sql: [a]}}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "unknown key intent.keywords.sql"}},
		{"pattern", "intent:\n  patterns:\n    rag: ['a{1,3}', '(b']\n", nil, []string{"config", "check"}, []string{"intent.patterns.rag", "strata.yaml:3", "item 2", `"(b"`, "missing closing"}},
		{"pattern by variable", "", []string{"STRATA_INTENT_PATTERNS_DATA=a{1,3}\n[b"}, []string{"config", "check"}, []string{"intent.patterns.data", "STRATA_INTENT_PATTERNS_DATA", "item 2"}},
		{"no file of examples", "intent: {examples_file: /nowhere/x}\n", nil, []string{"config", "check"}, []string{"intent.examples_file", "strata.yaml:1", "/nowhere/x", "unset"}},
		{"file of examples", "intent: {examples_file: strata.yaml}\n", nil, []string{"config", "check"}, []string{"intent.examples_file", "strata.yaml:1 is not a row", `"label": "rag"`}},
		{"default of no kind", "intent:\n  defaults:\n    - {model: a, intent: rag}\n    - {model: b}\n", nil, []string{"config", "check"}, []string{"strata.yaml:4", "intent.defaults", "item 2", "intent: rag"}},
		{"default of another kind", "intent: {defaults: [{intent: sql}]}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "intent.defaults", `"sql"`, "chat, rag, data"}},
		{"glob of a default", "intent: {defaults: [{model: 'a[', intent: rag}]}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "intent.defaults", "item 1", "model", `"a["`, "gpt-4o*"}},
		{"key of a default", "intent: {defaults: [{path: /x, intent: rag}]}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "intent.defaults", `"path"`, "model, route, intent"}},
		{"default without keys", "intent: {defaults: [rag]}\n", nil, []string{"config", "check"}, []string{"strata.yaml:1", "intent.defaults", "{model: hr-*, intent: rag}"}},
		{"default by variable", "", []string{"STRATA_INTENT_DEFAULTS=model=hr-*"}, []string{"config", "check"}, []string{"intent.defaults", "STRATA_INTENT_DEFAULTS", "model=hr-* intent=rag"}},
		{"judge without a key", "intent: {judge: {model: small}}\n", nil, []string{"config", "check"}, []string{"intent.judge.model", "strata.yaml:1", "upstream.api_key", "never kept"}},
		{"embedder without a model", "embedder:\n  base_url: http://x/v1\n", nil, []string{"config", "check"}, []string{"embedder.model", "empty", "text-embedding-3-small"}},
		{"embedder of a blank model", "embedder: {base_url: http://x, model: ' '}\n", nil, []string{"config", "check"}, []string{"embedder.model", "strata.yaml:1", "text-embedding-3-small"}},
		{"model without an embedder", "embedder: {model: m}\n", nil, []string{"config", "check"}, []string{"embedder.model", "strata.yaml:1", "embedder.base_url", "https://api.openai.com/v1"}},
		{"key without an embedder", "", []string{"STRATA_EMBEDDER_API_KEY=k"}, []string{"config", "check"}, []string{"embedder.api_key", "STRATA_EMBEDDER_API_KEY", "embedder.base_url"}},
		{"dimensions without an embedder", "", []string{"STRATA_EMBEDDER_DIMENSIONS=256"}, []string{"config", "check"}, []string{"embedder.dimensions", "embedder.base_url"}},
		{"embedder with a password", "embedder: {base_url: 'https://u:p@x/v1', model: m}\n", nil, []string{"config", "check"}, []string{"embedder.base_url", "strata.yaml:1", "embedder.api_key"}},
		{"embedder is no URL", "embedder: {base_url: 'localhost:11434', model: m}\n", nil, []string{"config", "check"}, []string{"embedder.base_url", "https://"}},
		{"embedder is Strata", "embedder: {base_url: 'http://127.0.0.1:4470/v1', model: m}\n", nil, []string{"config", "check"}, []string{"embedder.base_url", "own address"}},
		{"embedder's key with a line break", "embedder: {base_url: 'http://x', model: m}\n", []string{"STRATA_EMBEDDER_API_KEY=u:p@\nx"}, []string{"config", "check"}, []string{"embedder.api_key", "line break"}},
		{"dimensions", "embedder: {base_url: 'http://x', model: m, dimensions: 9000}\n", nil, []string{"config", "check"}, []string{"embedder.dimensions", "strata.yaml:1", "8192"}},
		{"no dimensions", "embedder: {base_url: 'http://x', model: m, dimensions: -1}\n", nil, []string{"config", "check"}, []string{"embedder.dimensions", "1 to 8192"}},
		{"rebuild", "embedder: {rebuild: never}\n", nil, []string{"config", "check"}, []string{"embedder.rebuild", `"never"`, "manual, auto"}},
		{"reranker is no URL", "", []string{"STRATA_RERANKER_BASE_URL=tei"}, []string{"config", "check"}, []string{"reranker.base_url", "STRATA_RERANKER_BASE_URL", "http://localhost:8082"}},
		{"reranker with a password", "", []string{"STRATA_RERANKER_BASE_URL=http://u:p@x"}, []string{"config", "check"}, []string{"reranker.base_url", "reranker.api_key"}},
		{"reranker with a query", "", []string{"STRATA_RERANKER_BASE_URL=http://x/v1?a=b"}, []string{"config", "check"}, []string{"reranker.base_url", "end with its path"}},
		{"model without a reranker", "reranker: {model: m}\n", nil, []string{"config", "check"}, []string{"reranker.model", "reranker.base_url", "https://api.jina.ai/v1"}},
		{"key without a reranker", "", []string{"STRATA_RERANKER_API_KEY=k"}, []string{"config", "check"}, []string{"reranker.api_key", "reranker.base_url"}},
		{"reranker's key", "reranker: {base_url: http://x}\n", []string{"STRATA_RERANKER_API_KEY=schlüssel"}, []string{"config", "check"}, []string{"reranker.api_key", "ASCII"}},
		{"citations", "citations: body\n", nil, []string{"config", "check"}, []string{"citations", "strata.yaml:1", "off, header"}},
		{"foreign ledger", "ledger: {url: 'postgres://x'}\n", nil, []string{"config", "check"}, []string{"ledger.url", "files"}},
		{"duration", "drain: {max: soon}\n", nil, []string{"config", "check"}, []string{"drain.max", "30s"}},
		{"size", "", []string{"STRATA_LIMITS_BODY=much"}, []string{"config", "check"}, []string{"limits.body", "STRATA_LIMITS_BODY", "100MB"}},
		{"number", "", []string{"STRATA_UPSTREAM_MAX_CONNECTIONS=x"}, []string{"config", "check"}, []string{"upstream.max_connections", "whole number"}},
		{"mode", "", []string{"STRATA_MODE=loud"}, []string{"config", "check"}, []string{"mode", "on, observe, read-only, write-only, off"}},
		{"missing secret file", "", []string{"STRATA_UPSTREAM_API_KEY_FILE=/nowhere/key"}, []string{"serve"}, []string{"STRATA_UPSTREAM_API_KEY_FILE", "/nowhere/key"}},
		{"secret twice", "", []string{"STRATA_UPSTREAM_API_KEY_FILE=/x", "STRATA_UPSTREAM_API_KEY=y"}, []string{"serve"}, []string{"both set", "unset one"}},
		{"missing config", "", nil, []string{"serve", "--config", "none.yaml"}, []string{"--config", "none.yaml", "config init"}},
		{"open listener", "", []string{"STRATA_LISTEN=0.0.0.0:0"}, []string{"serve"}, []string{"listen", "auth.mode", "trusted-network"}},
		{"own address", "", nil, []string{"serve", "--upstream", "http://localhost:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own admin address", "", nil, []string{"serve", "--upstream", "http://[::1]:4471"}, []string{"upstream.base_url", "admin.listen"}},
		{"own address by another spelling", "", nil, []string{"serve", "--upstream", "http://app.localhost.:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own address as a number", "", nil, []string{"serve", "--upstream", "http://127.1:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own address as one number", "", nil, []string{"serve", "--upstream", "http://0x7f000001:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own address mapped to IPv6", "", nil, []string{"serve", "--upstream", "http://[::ffff:127.0.0.1]:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own address unspecified", "", nil, []string{"serve", "--upstream", "http://0.0.0.0:4470/v1"}, []string{"upstream.base_url", "own address"}},
		{"own health address", "", []string{"STRATA_HEALTH_LISTEN=127.0.0.1:80"}, []string{"serve", "--upstream", "http://localhost"}, []string{"upstream.base_url", "health.listen"}},
		{"upstream with a query", "", nil, []string{"serve", "--upstream", "http://x/v1?"}, []string{"upstream.base_url", "--upstream", "query"}},
		{"upstream with a fragment", "", nil, []string{"serve", "--upstream", "http://x/v1#"}, []string{"upstream.base_url"}},
		{"upstream with no such port", "", nil, []string{"serve", "--upstream", "http://x:70000/v1"}, []string{"upstream.base_url", "65535"}},
		{"another scheme with a password", "", nil, []string{"serve", "--upstream", "ftp://u:p@x/v1"}, []string{"upstream.base_url", "https://"}},
		{"upstream is no URL", "", nil, []string{"serve", "--upstream", "api.openai.com/v1"}, []string{"upstream.base_url", "https://"}},
		{"upstream with a password", "", nil, []string{"serve", "--upstream", "https://u:p@x/v1"}, []string{"upstream.api_key"}},
		{"port in use", "", []string{"STRATA_LISTEN=" + busy.Addr().String(), "STRATA_ADMIN_LISTEN=off"}, []string{"serve"}, []string{"listen", busy.Addr().String(), "in use", "STRATA_LISTEN"}},
		{"admin port in use", "", []string{"STRATA_LISTEN=127.0.0.1:0", "STRATA_ADMIN_LISTEN=" + busy.Addr().String()}, []string{"serve"}, []string{"admin.listen", busy.Addr().String(), "STRATA_ADMIN_LISTEN"}},
		{"an address of another machine", "", []string{"STRATA_LISTEN=192.0.2.1:0", "STRATA_AUTH_MODE=trusted-network"}, []string{"serve"}, []string{"listen", "192.0.2.1:0", "STRATA_LISTEN"}},
		{"unknown command", "", nil, []string{"surve"}, []string{`"surve"`, "serve"}},
		{"unknown command below config", "", nil, []string{"config", "chekc"}, []string{`"chekc"`, "check"}},
		{"unknown flag", "", nil, []string{"serve", "--por", "1"}, []string{"--por", "strata serve --help"}},
		{"too many arguments", "", nil, []string{"version", "x"}, []string{`"x"`, "strata version"}},
		{"two files to init", "", nil, []string{"config", "init", "a", "b"}, []string{`"b"`, "strata config init"}},
		{"nothing to ask for health", "", []string{"STRATA_ADMIN_LISTEN=off"}, []string{"healthcheck"}, []string{"health.listen", "admin.listen", "--url"}},
		{"health of no URL", "", nil, []string{"healthcheck", "--url", "127.0.0.1:4471"}, []string{"--url", "http://"}},
	} {
		dir := t.TempDir()
		if c.file != "" {
			write(t, dir, "strata.yaml", c.file)
		}
		code, stdout, stderr := run(t, dir, c.env, c.args...)
		if strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: not one line: %q", c.name, stderr)
		}
		if code != 2 || stdout != "" || strings.Contains(stderr, "Usage:") || strings.Contains(stderr, "goroutine") {
			t.Errorf("%s: exit code %d, %q, %q", c.name, code, stdout, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q does not name %q", c.name, stderr, want)
			}
		}
		if strings.Contains(stderr, "u:p@") {
			t.Errorf("%s: a password is shown: %q", c.name, stderr)
		}
	}
}

// Values come from defaults, file, variables and flags, in this order.
func TestSources(t *testing.T) {
	dir := t.TempDir()
	key := write(t, dir, "key", "sk-from-file\n")
	write(t, dir, "strata.yaml", "mode: observe\nupstream:\n  base_url: http://file/v1\n  idle_timeout: 90s\n  api_key_file: "+key+"\nlimits: {body: 2MiB}\nallow_origins:\n  - http://a\n  - http://b\n")
	code, stdout, stderr := run(t, dir, []string{"STRATA_UPSTREAM_BASE_URL=http://variable/v1", "STRATA_ALLOW_HOSTS=x.test, y.test", "STRATA_MODE="}, "config", "show", "--origin")
	if code != 0 || stderr != "" {
		t.Fatalf("%d %s", code, stderr)
	}
	for _, want := range []string{
		`listen +127.0.0.1:4470 +default`, `mode +observe +strata.yaml:1`, `upstream.base_url +http://variable/v1 +STRATA_UPSTREAM_BASE_URL`,
		`upstream.idle_timeout +1m30s +strata.yaml:4`, `upstream.api_key +\*\*\*\* +strata.yaml:5 upstream.api_key_file`,
		`limits.body +2MB +strata.yaml:6`, `allow_origins +http://a,http://b +strata.yaml:7`, `allow_hosts +x.test,y.test +STRATA_ALLOW_HOSTS`,
	} {
		if !regexp.MustCompile(`(?m)^` + want + `$`).MatchString(stdout) {
			t.Errorf("no line %s in\n%s", want, stdout)
		}
	}
	if strings.Contains(stdout, "sk-from-file") {
		t.Error("a secret is shown")
	}
	code, stdout, _ = run(t, dir, nil, "config", "check")
	if code != 0 || stdout != "OK (strata.yaml)\n" {
		t.Errorf("check: %d %q", code, stdout)
	}
}

// Kubernetes' service links say nothing; a mistyped variable warns.
func TestVariables(t *testing.T) {
	links := []string{"STRATA_PORT=tcp://10.0.0.1:4470", "STRATA_SERVICE_HOST=10.0.0.1", "STRATA_SERVICE_PORT=4470", "STRATA_SERVICE_PORT_HTTP=1",
		"STRATA_PORT_4470_TCP=tcp://x", "STRATA_PORT_4470_TCP_ADDR=x", "STRATA_ADMIN_SERVICE_HOST=x", "STRATA_ADMIN_PORT=tcp://x:1", "STRATA_ADMIN_PORT_4471_TCP_PROTO=tcp"}
	if code, _, stderr := run(t, t.TempDir(), links, "config", "check"); code != 0 || stderr != "" {
		t.Errorf("service links: %d %q", code, stderr)
	}
	for name, want := range map[string]string{"STRATA_UPSTREAM_BASEURL": "did you mean STRATA_UPSTREAM_BASE_URL?", "STRATA_ADMIN_TOKN_FILE": "did you mean STRATA_ADMIN_TOKEN_FILE?",
		"STRATA_ADMIN_PORT": "STRATA_ADMIN_PORT is ignored"} {
		code, _, stderr := run(t, t.TempDir(), []string{name + "=8080"}, "config", "check")
		if code != 0 || !strings.Contains(stderr, name) || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %q, want a warning with %q", name, code, stderr, want)
		}
	}
}

// The file that init writes is valid, changes nothing, and is not overwritten.
func TestInit(t *testing.T) {
	dir := t.TempDir()
	if code, stdout, stderr := run(t, dir, nil, "config", "init"); code != 0 || !strings.Contains(stdout, "strata.yaml written") {
		t.Fatalf("%d %q %q", code, stdout, stderr)
	}
	_, shown, _ := run(t, dir, nil, "config", "show")
	_, plain, _ := run(t, dir, nil, "config", "show", "--config", write(t, dir, "empty.yaml", ""))
	if shown != plain {
		t.Errorf("the template changes something:\n%s\n%s", shown, plain)
	}
	b, _ := os.ReadFile(filepath.Join(dir, "strata.yaml"))
	uncommented := regexp.MustCompile(`(?m)^( *)# ([a-z_]+:)`).ReplaceAllString(string(b), "$1$2")
	_, all, stderr := run(t, dir, nil, "config", "show", "--config", write(t, dir, "all.yaml", uncommented))
	if all != plain {
		t.Errorf("the defaults written out differ: %s\n%s\n%s", stderr, all, plain)
	}
	if code, _, stderr := run(t, dir, nil, "config", "init"); code != 2 || !strings.Contains(stderr, "not overwritten") {
		t.Errorf("a second init: %d %q", code, stderr)
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"config", "--help"}, {"config", "init", "--help"}, {"config", "check", "--help"},
		{"config", "show", "--help"}, {"version", "--help"}, {"healthcheck", "--help"}} {
		if code, stdout, _ := run(t, t.TempDir(), nil, args...); code != 0 || !strings.Contains(stdout, "Examples:") {
			t.Errorf("%v: %d, no examples in %q", args, code, stdout)
		}
	}
	if code, stdout, _ := run(t, t.TempDir(), nil, "version", "--json"); code != 0 || !strings.Contains(stdout, `"go":"go1.`) {
		t.Errorf("version: %d %q", code, stdout)
	}
}

// serving is a running binary.
type serving struct {
	cmd         *exec.Cmd
	data, admin string
	lines       *bufio.Scanner
	log         *bytes.Buffer
	done        chan error
}

func serve(t *testing.T, dir string, env ...string) *serving {
	t.Helper()
	s := launch(t, dir, env...)
	s.awaitBanner(t)
	return s
}

func launch(t *testing.T, dir string, env ...string) *serving {
	t.Helper()
	s := &serving{cmd: command(t, dir, append([]string{"STRATA_LISTEN=127.0.0.1:0", "STRATA_ADMIN_LISTEN=127.0.0.1:0"}, env...), "serve"), log: &bytes.Buffer{}, done: make(chan error, 1)}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	s.lines = bufio.NewScanner(io.TeeReader(stderr, s.log))
	return s
}

// awaitAddresses takes the addresses from the banner.
func (s *serving) awaitAddresses() {
	for s.lines.Scan() {
		if _, addr, ok := strings.Cut(s.lines.Text(), "listening  "); ok {
			s.data = strings.TrimSpace(addr)
		}
		if _, addr, ok := strings.Cut(s.lines.Text(), "  admin      "); ok {
			s.admin = strings.TrimSpace(addr)
		}
		if strings.Contains(s.lines.Text(), "OPENAI_BASE_URL=") {
			return
		}
	}
}

// awaitBanner waits until the binary serves, and reads on until it ends.
func (s *serving) awaitBanner(t *testing.T) {
	t.Helper()
	s.awaitAddresses()
	if s.data == "" {
		t.Fatalf("no banner: %s", s.log)
	}
	go func() {
		for s.lines.Scan() {
		}
		s.done <- s.cmd.Wait()
	}()
}

func (s *serving) stop(t *testing.T) {
	t.Helper()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-s.done:
		if err != nil {
			t.Errorf("exit: %v\n%s", err, s.log)
		}
	case <-time.After(10 * time.Second):
		t.Errorf("still running 10 s after SIGTERM\n%s", s.log)
	}
}

func get(t *testing.T, url, token string) (int, string) {
	t.Helper()
	req, _ := http.NewRequest("GET", url, nil)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// The token is made once, privately, and is what the control plane asks for.
func TestServeAndToken(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir)
	path := filepath.Join(dir, ".local/share/strata/admin.token")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	if folder, _ := os.Stat(filepath.Dir(path)); folder.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v", folder.Mode())
	}
	token, _ := os.ReadFile(path)
	for _, c := range []struct {
		path, token string
		want        int
	}{{"/livez", "", 200}, {"/readyz", "", 200}, {"/metrics", "", 200}, {"/v1/stats", "", 401}, {"/v1/stats", "wrong", 401}, {"/v1/nothing", strings.TrimSpace(string(token)), 404}} {
		if code, body := get(t, s.admin+c.path, c.token); code != c.want {
			t.Errorf("%s: %d %.100s, want %d", c.path, code, body, c.want)
		}
	}
	if _, metrics := get(t, s.admin+"/metrics", ""); !strings.Contains(metrics, "strata_overhead_seconds") || !strings.Contains(metrics, "go_goroutines") {
		t.Error("metrics are missing")
	}
	if code, stdout, _ := run(t, dir, nil, "healthcheck", "--url", s.admin+"/readyz"); code != 0 || stdout != "ready\n" {
		t.Errorf("healthcheck: %d %q", code, stdout)
	}
	s.stop(t)
	if code, _, stderr := run(t, dir, nil, "healthcheck", "--url", s.admin+"/readyz"); code != 1 || strings.Count(stderr, "\n") != 1 {
		t.Errorf("healthcheck of nothing: %d %q", code, stderr)
	}
	s = serve(t, dir)
	if again, _ := os.ReadFile(path); !bytes.Equal(again, token) {
		t.Error("a second start made another token")
	}
	s.stop(t)
}

// A folder that cannot be written costs a warning, not the proxy.
func TestUnwritableDataDir(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, "STRATA_DATA_DIR="+write(t, dir, "file", "")+"/sub")
	if code, _ := get(t, s.admin+"/readyz", ""); code != 200 {
		t.Errorf("not ready: %d", code)
	}
	s.stop(t)
	if !strings.Contains(s.log.String(), "admin token cannot be kept") {
		t.Errorf("no warning: %s", s.log)
	}
}

// trusted-network opens the listener and says so.
func TestTrustedNetwork(t *testing.T) {
	s := serve(t, t.TempDir(), "STRATA_LISTEN=0.0.0.0:0", "STRATA_AUTH_MODE=trusted-network", "STRATA_HEALTH_LISTEN=127.0.0.1:0")
	s.stop(t)
	if !strings.Contains(s.log.String(), "OPENAI_BASE_URL=http://127.0.0.1:") {
		t.Errorf("the banner names no address to use: %s", s.log)
	}
	if !strings.Contains(s.log.String(), "trusted-network: whoever") {
		t.Errorf("not logged: %s", s.log)
	}
}
