package cli

import (
	"errors"
	"fmt"
	"os"
)

// temporaryFile is a file that only its owner can read and that is gone when it
// is closed.
type temporaryFile struct {
	*os.File
	removed bool
}

// newTemporaryFile makes one. Where the system can, its name is removed at
// once, so that nothing is left of it whatever ends the process.
func newTemporaryFile() (*temporaryFile, error) {
	f, err := os.CreateTemp("", "strata-")
	if err != nil {
		return nil, fmt.Errorf("no temporary file can be made (%w); set TMPDIR to a folder that can be written", err)
	}
	return &temporaryFile{f, os.Remove(f.Name()) == nil}, nil
}

// Close removes the file.
func (f *temporaryFile) Close() error {
	err := f.File.Close()
	if !f.removed {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
