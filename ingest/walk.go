package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Found is one file or folder that Walk came by.
type Found struct {
	ID      string // of the document: the slash path below the folder given, the base name of a file given; a folder's ends in "/"
	Path    string // as the system knows it
	Size    int64  // bytes
	Skipped string // why it is not taken, "" if it is
	Keep    bool   // skipped, but there: what was taken from it before is not gone (see Missing)
}

// Tally counts what Walk came by.
type Tally struct {
	Taken      int
	Skipped    int // of these:
	Unreadable int
}

// Walk calls each, in the order of names, for every document among paths and
// below the folders among them, and for everything that it skips. Links are
// followed, but no folder is walked twice. It stops at ctx's end, at an error of each,
// or at a path that does not exist.
func Walk(ctx context.Context, paths []string, each func(Found) error) (Tally, error) {
	w := walker{ctx: ctx, each: each, ids: map[string]string{}, folders: map[string]string{}}
	for _, p := range paths {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			return w.tally, fmt.Errorf("ingest: %s: no such file or folder", p)
		}
		switch {
		case err != nil:
			err = w.skip(Found{ID: filepath.Base(p), Path: p}, unreadable(err))
		case info.IsDir():
			err = w.folder(p, "")
		default:
			err = w.file(filepath.Base(p), p, info)
		}
		if err != nil {
			return w.tally, err
		}
	}
	return w.tally, nil
}

type walker struct {
	ctx     context.Context
	each    func(Found) error
	ids     map[string]string // id -> path
	folders map[string]string // where it really is -> path
	tally   Tally
}

// folder walks what is below dir. prefix is its id, "" of a folder given.
func (w *walker) folder(dir, prefix string) error {
	self := Found{ID: prefix, Path: dir}
	if prefix == "" {
		self.ID = "/"
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return w.skip(self, unreadable(err))
	}
	if before, ok := w.folders[real]; ok {
		return w.skip(self, "the same folder as "+before)
	}
	w.folders[real] = dir
	entries, err := os.ReadDir(dir)
	if err != nil {
		if err := w.skip(self, unreadable(err)); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(filepath.Join(dir, e.Name()), prefix+e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) entry(at, id string) error {
	if strings.HasPrefix(filepath.Base(at), ".") {
		return w.skip(Found{ID: id, Path: at}, "hidden")
	}
	info, err := os.Stat(at)
	switch {
	case err != nil:
		return w.skip(Found{ID: id, Path: at}, unreadable(err))
	case info.IsDir():
		return w.folder(at, id+"/")
	}
	return w.file(id, at, info)
}

// file decides on one file, by name, size and its first bytes.
func (w *walker) file(id, at string, info fs.FileInfo) error {
	f := Found{ID: id, Path: at, Size: info.Size()}
	ending := strings.ToLower(path.Ext(id))
	format, known := formatByEnding(id)
	switch {
	case !info.Mode().IsRegular():
		return w.skip(f, "not a regular file")
	case !known:
		if ending == "" {
			ending = "without an ending"
		}
		return w.skip(f, "unknown type "+ending)
	case checkID(id) != nil:
		return w.skip(f, "the name cannot be an id")
	case f.Size == 0:
		return w.skip(f, "empty")
	case f.Size > MaxSize:
		return w.skip(f, fmt.Sprintf(unreadablePrefix+"larger than %d MB", MaxSize>>20))
	}
	if other, ok := w.ids[id]; ok {
		f.Keep = true
		return w.skip(f, "has the same id as "+other)
	}
	start, err := firstBytes(at)
	switch {
	case err != nil:
		return w.skip(f, unreadable(err))
	case format.isText() && !bytes.HasPrefix(start, []byte("\xFF\xFE")) && !bytes.HasPrefix(start, []byte("\xFE\xFF")) && refuseBinary(start) != nil:
		return w.skip(f, unreadablePrefix+"binary content")
	}
	w.ids[id] = at
	w.tally.Taken++
	return w.each(f)
}

func firstBytes(at string) ([]byte, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	buf := make([]byte, 8<<10)
	n, err := io.ReadFull(f, buf)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

const unreadablePrefix = "cannot be read: "

func unreadable(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return unreadablePrefix + err.Error()
}

func (w *walker) skip(f Found, reason string) error {
	f.Skipped = reason
	w.tally.Skipped++
	if strings.HasPrefix(reason, unreadablePrefix) {
		f.Keep = true
		w.tally.Unreadable++
	}
	return w.each(f)
}

// Missing returns, in have's order, the ids of have that lie under the folder
// prefix ("" = all) and were not found. found are the ids of what was taken
// and of what has Keep; one that ends in "/" stands for everything below it.
func Missing(have, found []string, prefix string) []string {
	there := make(map[string]bool, len(found))
	for _, id := range found {
		there[id] = true
	}
	prefix = strings.TrimSuffix(prefix, "/")
	var out []string
	for _, id := range have {
		if prefix != "" && !strings.HasPrefix(id, prefix+"/") || there[id] || there["/"] || below(there, id) {
			continue
		}
		out = append(out, id)
	}
	return out
}

// below tells whether a folder that id is in was found as a whole.
func below(there map[string]bool, id string) bool {
	for i := range id {
		if id[i] == '/' && there[id[:i+1]] {
			return true
		}
	}
	return false
}
