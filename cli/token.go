package cli

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// adminToken returns the control plane's token: the configured one, else the
// one in the data folder, made there if there is none. When the folder cannot
// be written the token lives in memory only and warning says so, since the
// data plane must start all the same.
func adminToken(configured, dataDir string) (token, warning string) {
	if configured != "" {
		return configured, ""
	}
	path := filepath.Join(dataDir, "admin.token")
	token, err := readToken(path)
	if err == nil {
		return token, ""
	}
	if errors.Is(err, fs.ErrNotExist) {
		if token, err = makeToken(dataDir, path); err == nil {
			return token, ""
		}
	}
	return randomToken(), fmt.Sprintf("the admin token cannot be kept in %s (%v); this start has a token that nobody knows: set admin.token or make data_dir writable", path, err)
}

func readToken(path string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	if token == "" {
		return "", fmt.Errorf("%s is empty", path)
	}
	return token, nil
}

// makeToken writes a new token so that a reader sees all of it or nothing, and
// of two starting at once both end with the same one.
func makeToken(dir, path string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	f, err := os.CreateTemp(dir, "admin.token.*") // made with mode 0600
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, randomToken())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return readToken(path)
}

func randomToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
