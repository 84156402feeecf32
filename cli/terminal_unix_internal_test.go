//go:build unix

package cli

import (
	"bytes"
	"os"
	"syscall"
	"testing"
)

// Redirected to the null device, standard error keeps its name and is still a
// device: nobody sits there.
func TestNullDeviceIsNoTerminal(t *testing.T) {
	fd, err := syscall.Open(os.DevNull, syscall.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	redirected := os.NewFile(uintptr(fd), "/dev/stderr")
	defer redirected.Close()
	if isTerminal(redirected) || isTerminal(new(bytes.Buffer)) {
		t.Error("a device or a buffer counts as a terminal")
	}
}
