package admin

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"strata/ingest"
)

// spool keeps large documents that were accepted until their jobs have ended,
// so that neither a crash nor a restart loses one. A job is two files: its
// body, and what goes with it, which is written last and makes it count.
type spool struct{ dir string }

// spooled is a job as it is kept.
type spooled struct {
	Job       string    `json:"job"`
	Tenant    string    `json:"tenant"`
	ID        string    `json:"id"`
	Title     string    `json:"title,omitempty"`
	MediaType string    `json:"media_type,omitempty"`
	Groups    []string  `json:"groups,omitempty"`
	Effective time.Time `json:"effective,omitzero"`
	Expires   time.Time `json:"expires,omitzero"`
	At        time.Time `json:"at"`    // when it was accepted
	Tries     int       `json:"tries"` // how often it was begun and not ended, nor stopped with the process
}

// maxTries is how often a job is begun. One that is still there after them has
// most likely ended the process each time.
const maxTries = 3

const bodyEnding, jobEnding, unfinished = ".body", ".json", "~"

// create opens a file in the spool's folder for an upload that has no job yet.
// waiting removes it if it never gets one.
func (s *spool) create() (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(s.dir, "upload-*"+bodyEnding)
}

// keep makes file, one of create's, the body of a job and writes the job down.
// Both are on the disk when keep returns. After an error nothing is left.
func (s *spool) keep(j spooled, file string) error {
	err := syncFile(file)
	if err == nil {
		err = os.Rename(file, s.body(j.Job))
	}
	if err == nil {
		err = s.note(j)
	}
	if err != nil {
		_ = os.Remove(file)
		s.drop(j.Job)
		return fmt.Errorf("admin: keeping an upload: %w", err)
	}
	return nil
}

func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// note writes what goes with a body, in one step.
func (s *spool) note(j spooled) error {
	b, err := json.Marshal(j)
	if err != nil {
		return err
	}
	at := filepath.Join(s.dir, j.Job+jobEnding)
	if err := writeThrough(at+unfinished, b); err != nil {
		return err
	}
	if err := os.Rename(at+unfinished, at); err != nil {
		return err
	}
	syncDir(s.dir)
	return nil
}

// syncDir makes renames last through a loss of power, on systems that can.
func syncDir(dir string) {
	if f, err := os.Open(dir); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}

func writeThrough(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// body is the file with a job's document.
func (s *spool) body(job string) string { return filepath.Join(s.dir, job+bodyEnding) }

// drop removes a job. The note goes first: a body alone does not count.
func (s *spool) drop(job string) {
	for _, ending := range []string{jobEnding, bodyEnding} {
		_ = os.Remove(filepath.Join(s.dir, job+ending)) // what stays is removed at the next start
	}
}

// waiting returns the jobs that have not ended, in the order in which they
// were accepted, and removes what belongs to none.
func (s *spool) waiting() ([]spooled, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("admin: reading kept uploads: %w", err)
	}
	var out []spooled
	kept := map[string]bool{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), jobEnding)
		if !ok {
			continue
		}
		var j spooled
		b, err := os.ReadFile(filepath.Join(s.dir, e.Name()))
		if err != nil || json.Unmarshal(b, &j) != nil || j.Job != name || j.Tenant == "" || j.ID == "" {
			continue
		}
		kept[name] = true
		out = append(out, j)
	}
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), bodyEnding); ok && !kept[name] || strings.HasSuffix(e.Name(), unfinished) {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		}
	}
	slices.SortFunc(out, func(a, b spooled) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Job, b.Job)) })
	return out, nil
}

// forget drops the jobs of a document.
func (s *spool) forget(tenant, id string) {
	kept, _ := s.waiting()
	for _, j := range kept {
		if j.Tenant == tenant && j.ID == id {
			s.drop(j.Job)
		}
	}
}

// source is the document of a kept job.
func (s *spool) source(j spooled) ingest.Source {
	return ingest.Source{File: s.body(j.Job), ID: j.ID, Title: j.Title, MediaType: j.MediaType, Groups: j.Groups, Effective: j.Effective, Expires: j.Expires}
}
