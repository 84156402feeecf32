package ingest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/stores"
)

// MaxSize is the largest document in bytes. Above it Put fails with
// ErrTooLarge.
const MaxSize = 64 << 20

// maxID is the longest document id in bytes.
const maxID = 512

// parse makes a draft of a source. It keeps no part of src.Body.
func parse(ctx context.Context, src Source, count func(string) int) (stores.Draft, error) {
	d := stores.Draft{ID: src.ID, Title: src.Title, Groups: src.Groups, Effective: src.Effective, Expires: src.Expires}
	if err := checkID(src.ID); err != nil {
		return d, err
	}
	if len(src.Body) > MaxSize {
		return d, fmt.Errorf("%w: %d MB; at most %d MB are read", ErrTooLarge, len(src.Body)>>20, MaxSize>>20)
	}
	f, charset, err := formatOf(src.MediaType, src.ID)
	if err != nil {
		return d, err
	}
	text, err := decode(src.Body, charset)
	if err != nil {
		return d, err
	}
	sum := sha256.Sum256(src.Body)
	d.SHA256 = hex.EncodeToString(sum[:])
	d.MediaType = "text/plain"
	meta, text, err := cutFront(text)
	if err != nil {
		return d, err
	}
	if err := fill(&d, meta); err != nil {
		return d, err
	}
	var blocks []block
	if f == markdown {
		d.MediaType = "text/markdown"
		blocks = markdownBlocks(text)
	} else {
		blocks = plainBlocks(text)
	}
	if d.Title = titleOf(d.Title, blocks, f, src.ID); blank(text) {
		return d, ErrEmpty
	}
	d.Passages, err = split(ctx, text, blocks, count)
	return d, err
}

// fill takes from front matter what the source does not say. Whose document it
// is the source says alone.
func fill(d *stores.Draft, f Front) error {
	if d.Title == "" {
		d.Title = f.Title
	}
	if len(d.Groups) == 0 {
		d.Groups = f.Groups
	}
	if d.Effective.IsZero() {
		d.Effective = f.Effective
	}
	if d.Expires.IsZero() {
		d.Expires = f.Expires
	}
	if !d.Expires.IsZero() && !d.Effective.Before(d.Expires) {
		return fmt.Errorf("%w: with what was given beside it, expires is not after effective", ErrFront)
	}
	return nil
}

// titleOf is the title given, else the first heading, else the id's last
// part. Of plain text only an unnumbered first line counts.
func titleOf(given string, blocks []block, f format, id string) string {
	name := strings.Join(strings.Fields(given), " ")
	for i := 0; name == "" && i < len(blocks); i++ {
		if b := blocks[i]; b.kind == title && (f == markdown || b.level == 1) {
			name = b.name
		}
	}
	if name == "" {
		name = path.Base(id)
		if stem := strings.TrimSuffix(name, path.Ext(name)); stem != "" && textEndings[strings.ToLower(path.Ext(name))] {
			name = stem
		}
	}
	for len(name) > maxTitle {
		_, n := utf8.DecodeLastRuneInString(name[:maxTitle+1])
		name = name[:maxTitle+1-n]
	}
	return name
}

// checkID refuses ids that could not be written into a path or a log.
func checkID(id string) error {
	bad := strings.ContainsFunc(id, unicode.IsControl) || !utf8.ValidString(id)
	if id == "" || len(id) > maxID || bad {
		return fmt.Errorf("%w: 1 to %d bytes of UTF-8 without control characters", ErrID, maxID)
	}
	return nil
}
