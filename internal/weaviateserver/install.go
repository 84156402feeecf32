// Package weaviateserver installs a real Weaviate server and runs it on
// loopback, for tests and for developing on a machine without containers. It
// decides which version that is, where it is kept and how it is set up; it must
// not know what is stored in it.
package weaviateserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Version is the server's, which the client library is known to work with.
const Version = "1.35.2"

const module = "github.com/weaviate/weaviate/cmd/weaviate-server"

// ErrMissing is that of a server which Install has not installed.
var ErrMissing = errors.New("no Weaviate " + Version + " is installed; run make weaviate-install")

// Binary is the path of the installed server, in the user's cache folder.
// Without one it is ErrMissing.
func Binary() (string, error) {
	path, err := place()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err != nil {
		return "", ErrMissing
	}
	return path, nil
}

func place() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("weaviateserver: no cache folder, set HOME: %w", err)
	}
	name := "weaviate-server"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(cache, "strata", "weaviate-"+Version, name), nil
}

// Install builds the server from its module, unless that was done before, and
// returns its path. The first time takes minutes and some 2 GB of module and
// build cache; log gets what the build says.
func Install(ctx context.Context, log io.Writer) (string, error) {
	path, err := place()
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	// Built beside its place and then moved, so that a build that was cut off,
	// or a second one at the same time, leaves no half of a server there.
	building, err := os.MkdirTemp(filepath.Dir(dir), "weaviate-building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(building)
	cmd := exec.CommandContext(ctx, "go", "install", "-trimpath", module+"@v"+Version)
	cmd.Env = append(os.Environ(), "GOBIN="+building)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("weaviateserver: %v: %w", cmd, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return path, os.Rename(filepath.Join(building, filepath.Base(path)), path)
}
