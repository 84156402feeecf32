package textindex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// SetAside gives the files of an index that nobody has open other names beside
// it, and returns that of the index file. Nothing is overwritten.
func SetAside(path string, now time.Time) (kept string, err error) {
	name := path + ".broken-" + now.UTC().Format("20060102T150405Z")
	kept = name
	for n := 2; ; n++ {
		if err = move(path, kept); !errors.Is(err, fs.ErrExist) {
			break
		}
		kept = fmt.Sprintf("%s-%d", name, n)
	}
	// The file itself goes first: without its log it could pass for a whole one
	// that lacks what the log held.
	for _, beside := range []string{"-wal", "-shm"} {
		if _, missing := os.Lstat(path + beside); err == nil && missing == nil {
			err = move(path+beside, kept+beside)
		}
	}
	if err != nil {
		return "", fmt.Errorf("textindex: put %s aside: %w", path, err)
	}
	return kept, nil
}

// move is os.Rename for a name that nobody has: it takes the name first.
func move(from, to string) error {
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_ = f.Close() // nothing was written
	if err := os.Rename(from, to); err != nil {
		return errors.Join(err, os.Remove(to))
	}
	return nil
}
