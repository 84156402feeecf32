package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"strata/stores"
)

// Source is a document as it comes.
type Source struct {
	ID                 string    // 1-512 bytes, unique in its tenant; its end tells the format where MediaType does not
	Title              string    // "" = from the document itself, or the id
	MediaType          string    // of a format that is read, or "" to go by the id
	Body               []byte    // at most MaxSize
	File               string    // path of a file that holds the document instead of Body; it must stay as it is until Put returns
	Groups             []string  // who may read it; none = from front matter, else everybody
	Effective, Expires time.Time // zero = from front matter, else at once and never
	// Progress, if not nil, is told how far Put is, from one goroutine.
	Progress func(Progress)
}

// opened is a source whose format is known.
type opened struct {
	reading
	file  *os.File // nil = in memory
	draft stores.Draft
}

// open looks at a source. The caller closes what it returns.
func (src Source) open(count func(string) int) (*opened, error) {
	o := &opened{draft: stores.Draft{ID: src.ID, Title: src.Title, Groups: src.Groups, Effective: src.Effective, Expires: src.Expires}}
	if err := checkID(src.ID); err != nil {
		return nil, err
	}
	o.reading = reading{body: bytes.NewReader(src.Body), size: int64(len(src.Body)), count: count}
	if src.File != "" {
		f, err := os.Open(src.File)
		if err != nil {
			return nil, fmt.Errorf("ingest: %w", err)
		}
		info, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return nil, fmt.Errorf("ingest: %w", err)
		}
		o.file, o.body, o.size = f, f, info.Size()
	}
	if err := o.look(src); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *opened) look(src Source) error {
	if o.size > MaxSize {
		return fmt.Errorf("%w: %d MB; at most %d MB are read", ErrTooLarge, o.size>>20, MaxSize>>20)
	}
	if o.size == 0 {
		return ErrEmpty
	}
	start := make([]byte, min(o.size, sniffed))
	n, err := o.body.ReadAt(start, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("ingest: %w", err)
	}
	if o.format, o.charset, err = formatOf(src.MediaType, src.ID, start[:n]); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(o.body, 0, o.size)); err != nil {
		return fmt.Errorf("ingest: %w", err)
	}
	o.draft.SHA256, o.draft.MediaType = hex.EncodeToString(sum.Sum(nil)), o.format.mediaType()
	return nil
}

func (o *opened) close() {
	if o.file != nil {
		_ = o.file.Close()
	}
}

// parse makes a draft of a source in this process.
func parse(ctx context.Context, src Source, count func(string) int) (stores.Draft, error) {
	o, err := src.open(count)
	if err != nil {
		return stores.Draft{}, err
	}
	defer o.close()
	err = o.parseHere(ctx)
	return o.draft, err
}

func (o *opened) parseHere(ctx context.Context) error {
	f, err := o.read(ctx, func(p stores.Passage) error { o.draft.Passages = append(o.draft.Passages, p); return nil })
	if err != nil {
		return err
	}
	return finish(&o.draft, f)
}
