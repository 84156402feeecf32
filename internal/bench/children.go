package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"strata/internal/upstreamtest"
)

const startLimit = 15 * time.Second // for a child to accept connections

// oneCore holds both proxies to one core, so that they are compared alike and
// leave the other to upstream and the load.
const oneCore = "GOMAXPROCS=1"

// target is a process that is sent load.
type target struct {
	name string
	addr string // host:port
	ctrl string // host:port of Strata's control plane
	cmd  *exec.Cmd
}

func (t *target) pid() int { return t.cmd.Process.Pid }

// stop ends the process without a drain: nothing it holds is wanted.
func (t *target) stop() {
	_ = t.cmd.Process.Kill()
	_ = t.cmd.Wait()
}

// bench is everything that is running.
type bench struct {
	ctx    context.Context
	quick  bool
	dir    string // temporary, removed at the end
	binary string // Strata's program

	upstream, bare, strata *target
}

func startBench(ctx context.Context, set settings) (_ *bench, err error) {
	b := &bench{ctx: ctx, quick: set.quick, binary: set.binary}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "strata-bench-"); err != nil {
		return nil, err
	}
	if b.binary == "" {
		b.binary = filepath.Join(b.dir, "strata")
		if err := build(ctx, b.binary); err != nil {
			return nil, err
		}
	} else if b.binary, err = filepath.Abs(b.binary); err != nil {
		return nil, err
	}
	if b.upstream, err = b.startRole(roleUpstream); err != nil {
		return nil, err
	}
	if b.bare, err = b.startBare(oneCore); err != nil {
		return nil, err
	}
	b.strata, err = b.startStrata(oneCore)
	return b, err
}

func (b *bench) close() {
	for _, t := range []*target{b.strata, b.bare, b.upstream} {
		if t != nil {
			t.stop()
		}
	}
	if b.dir != "" {
		_ = os.RemoveAll(b.dir)
	}
}

// build makes Strata's program from the module that the working directory is
// in.
func build(ctx context.Context, to string) error {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", to, ".")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(mod)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, out)
	}
	return nil
}

func (b *bench) startBare(env ...string) (*target, error) {
	return b.startRole(roleBare, append([]string{b.upstream.addr}, env...)...)
}

// startRole starts this program in another role; of rest, what holds a = is
// environment, the others are arguments. The child prints its address.
func (b *bench) startRole(role string, rest ...string) (*target, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, self, role)
	cmd.Env = plainEnvironment()
	for _, r := range rest {
		if strings.Contains(r, "=") {
			cmd.Env = append(cmd.Env, r)
		} else {
			cmd.Args = append(cmd.Args, r)
		}
	}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = dieWithParent()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &target{name: strings.TrimPrefix(role, "role:"), cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.stop()
		return nil, fmt.Errorf("%s did not start: %w", t.name, err)
	}
	t.addr = strings.TrimSpace(line)
	return t, nil
}

// startStrata starts Strata in front of upstream, with a data folder of its
// own and no configuration but env, and waits until it is ready.
func (b *bench) startStrata(env ...string) (*target, error) {
	addrs, err := freeAddresses(2)
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(b.ctx, b.binary, "serve")
	cmd.Dir = home
	cmd.Env = append(plainEnvironment(), env...)
	cmd.Env = append(cmd.Env,
		"HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home,
		"STRATA_UPSTREAM_BASE_URL=http://"+b.upstream.addr+"/v1",
		"STRATA_DATA_DIR="+filepath.Join(home, "data"),
		"STRATA_LISTEN="+addrs[0],
		"STRATA_ADMIN_LISTEN="+addrs[1],
		"STRATA_ADMIN_TOKEN="+controlToken,
		"STRATA_LOG_LEVEL=error",
	)
	// Through a pipe: on a terminal Strata takes the person at it for the user.
	cmd.Stderr = struct{ io.Writer }{os.Stderr}
	cmd.SysProcAttr = dieWithParent()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	t := &target{name: "strata", addr: addrs[0], ctrl: addrs[1], cmd: cmd}
	if err := awaitReady(b.ctx, t.ctrl); err != nil {
		t.stop()
		return nil, fmt.Errorf("strata did not start: %w", err)
	}
	return t, nil
}

// plainEnvironment is this process's without what would change the children.
func plainEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(strings.ToUpper(v), "=")
		return strings.HasPrefix(name, "STRATA_") || strings.HasSuffix(name, "_PROXY") || name == "GOMAXPROCS"
	})
}

// freeAddresses are loopback addresses that were free a moment ago.
func freeAddresses(n int) ([]string, error) {
	addrs := make([]string, 0, n)
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs, nil
}

func awaitReady(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		why := ready(ctx, addr)
		if why == nil {
			return nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return why
		}
	}
}

func ready(ctx context.Context, addr string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", addr, resp.Status)
	}
	return nil
}

// pause waits for d, or returns the error of ctx when that ends first.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveRole is the program as a child: it listens on a free port, prints the
// address and serves until it is killed.
func serveRole(role string, args []string) error {
	switch {
	case role == roleUpstream && len(args) == 0:
		s, err := upstreamtest.Start("127.0.0.1:0", upstreamHandler(), upstreamtest.NoRecord())
		if err != nil {
			return err
		}
		announce(os.Stdout, s.Addr())
		select {}
	case role == roleBare && len(args) == 1:
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		announce(os.Stdout, ln.Addr().String())
		return newBare(args[0]).Serve(ln)
	}
	return errors.New("unknown role " + role)
}

func announce(w io.Writer, addr string) { fmt.Fprintln(w, addr) }
