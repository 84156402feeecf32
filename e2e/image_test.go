package e2e_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"debug/elf"
	"encoding/pem"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"strata/internal/upstreamtest"
)

// imageUser is who runs in the image, uid and gid.
const imageUser = 65532

// instruction is one line of a Dockerfile, continuations joined.
type instruction struct{ name, args string }

// dockerfile is the module's, cut into instructions; those of the last stage
// are the image.
func dockerfile(t *testing.T) (all, image []instruction) {
	t.Helper()
	text := strings.ReplaceAll(string(contents(t, "../Dockerfile")), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, args, _ := strings.Cut(line, " ")
		in := instruction{strings.ToUpper(name), strings.Join(strings.Fields(args), " ")}
		if in.name == "FROM" {
			image = nil
		}
		all, image = append(all, in), append(image, in)
	}
	return all, image
}

func TestImageKeepsTheRules(t *testing.T) {
	all, image := dockerfile(t)
	for _, rule := range []struct{ name, args string }{
		{"FROM", `scratch`},
		{"COPY", `--from=\w+ \S+/ca-certificates\.crt /etc/ssl/certs/ca-certificates\.crt`},
		{"COPY", `--from=\w+ --chmod=0755 \S+ /strata`},
		{"COPY", `--from=\w+ --chown=65532:65532 --chmod=0700 \S+ /var/lib/strata`},
		{"ENV", `STRATA_DATA_DIR=/var/lib/strata`},
		{"VOLUME", `/var/lib/strata`},
		{"EXPOSE", `4470\b.*`},
		{"USER", `65532:65532`}, // a number: orchestrators check that it is not root
		{"HEALTHCHECK", `.*CMD \["/strata", "healthcheck"\]`},
		{"ENTRYPOINT", `\["/strata"\]`},
		{"CMD", `\["serve"\]`},
	} {
		matches := regexp.MustCompile(`^` + rule.args + `$`).MatchString
		if !slices.ContainsFunc(image, func(in instruction) bool { return in.name == rule.name && matches(in.args) }) {
			t.Errorf("the image has no %s %s", rule.name, rule.args)
		}
	}
	allowed := map[string]bool{}
	for _, name := range []string{"FROM", "COPY", "ENV", "VOLUME", "EXPOSE", "USER", "HEALTHCHECK", "ENTRYPOINT", "CMD", "LABEL"} {
		allowed[name] = true
	}
	for _, in := range image {
		if !allowed[in.name] {
			t.Errorf("%s %s: nothing can run in an empty image", in.name, in.args)
		}
	}
	pinned := regexp.MustCompile(`(^| )(scratch|[^ :]+:[0-9][^ ]*)( AS \w+)?$`)
	for _, in := range all {
		if in.name == "FROM" && !pinned.MatchString(in.args) {
			t.Errorf("FROM %s: the version is not pinned", in.args)
		}
	}
	if first := all[0]; !strings.Contains(first.args, "golang:"+goVersion(t)) {
		t.Errorf("FROM %s: go.mod asks for Go %s", first.args, goVersion(t))
	}
}

// goVersion is the major.minor of go.mod.
func goVersion(t *testing.T) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(contents(t, "../go.mod"))
	if found == nil {
		t.Fatal("go.mod names no Go version")
	}
	return string(found[1])
}

// imageBinary runs the build command of the Dockerfile into a folder of the
// test and returns the binary.
func imageBinary(t *testing.T, version string) string {
	t.Helper()
	all, _ := dockerfile(t)
	i := slices.IndexFunc(all, func(in instruction) bool { return in.name == "RUN" && strings.Contains(in.args, "go build") })
	if i < 0 {
		t.Fatal("the Dockerfile has no go build")
	}
	command := all[i].args
	for _, part := range []string{"CGO_ENABLED=0 ", "-trimpath", "-ldflags=", "-o /out/strata"} {
		if !strings.Contains(command, part) {
			t.Fatalf("the build command lacks %s: %s", part, command)
		}
	}
	binary := filepath.Join(t.TempDir(), "strata")
	cmd := exec.Command("sh", "-c", strings.Replace(command, "/out/strata", binary, 1))
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH="+runtime.GOARCH, "VERSION="+version)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, said)
	}
	return binary
}

func TestImageBinary(t *testing.T) {
	const version = "1.2.3-e2e"
	binary := imageBinary(t, version)
	t.Run("is static", func(t *testing.T) { checkStatic(t, binary) })
	t.Run("names no path of the builder", func(t *testing.T) {
		root, err := filepath.Abs("..")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(contents(t, binary), []byte(root+"/cli")) {
			t.Errorf("the binary holds %s", root)
		}
	})
	t.Run("knows its version", func(t *testing.T) {
		said, err := exec.Command(binary, "version").CombinedOutput()
		if err != nil || !strings.Contains(string(said), version) {
			t.Errorf("strata version: %v, %q, want %s in it", err, said, version)
		}
	})
	t.Run("serves in an empty root", func(t *testing.T) { checkEmptyRoot(t, binary) })
}

func checkStatic(t *testing.T, binary string) {
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			t.Error("the binary needs a dynamic loader")
		}
	}
	if libs, err := f.ImportedLibraries(); err == nil && len(libs) > 0 {
		t.Errorf("the binary needs %q", libs)
	}
}

// checkEmptyRoot runs the binary with the file system and the user of the
// image. The upstream's certificate is in the image's bundle and nowhere else,
// so that an answer proves that the bundle is read.
func checkEmptyRoot(t *testing.T, binary string) {
	if os.Getuid() != 0 {
		missing(t, "run the tests as root, which chroot takes")
	}
	up := upstreamtest.NewTLS(t, upstreamtest.OpenAI())
	root := emptyRoot(t, binary, up.Addr())
	as := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: imageUser, Gid: imageUser}}
	cmd := exec.Command("/strata", "serve")
	cmd.Dir, cmd.SysProcAttr = "/", as
	p := launch(t, cmd, "/var/lib/strata", up.Addr(), settings{
		"STRATA_UPSTREAM_BASE_URL=https://" + up.Addr() + "/v1", "HOME=", "PATH=",
	})
	p.waitReady(t)

	client := http.Client{Timeout: patience, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + p.addr + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != 200 {
		t.Errorf("models: %d %q %v", resp.StatusCode, answer, err)
	}
	info, err := os.Stat(filepath.Join(root, "var/lib/strata/admin.token"))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != imageUser || info.Mode().Perm() != 0o600 {
		t.Errorf("the data folder is not used: %v, %v", info, err)
	}
	if code, said := healthcheck(t, p); code != 0 {
		t.Errorf("healthcheck of a running program: code %d, %s", code, said)
	}
	p.stop(t)
	if code, said := healthcheck(t, p); code != 1 {
		t.Errorf("healthcheck of an ended program: code %d, want 1; %s", code, said)
	}
}

// healthcheck runs the image's check beside p, with the same root, user and
// variables.
func healthcheck(t *testing.T, p *program) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/strata", "healthcheck")
	cmd.Dir, cmd.SysProcAttr = "/", p.cmd.SysProcAttr
	cmd.Env = append(slices.Clone(p.cmd.Env), "STRATA_ADMIN_LISTEN="+p.admin)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// emptyRoot is a folder with what the image holds: the binary, a bundle with
// the certificate of addr, the data folder.
func emptyRoot(t *testing.T, binary, addr string) string {
	t.Helper()
	root := t.TempDir()
	conn, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true}) // only to read the certificate
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw})
	for name, b := range map[string][]byte{"strata": contents(t, binary), "etc/ssl/certs/ca-certificates.crt": bundle} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(root, "var/lib/strata")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Chmod(root, 0o755), os.Chmod(data, 0o700), os.Chown(data, imageUser, imageUser)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}
