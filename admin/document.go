package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"strata/stores"
)

// document is one document with everything that is known of it. Passages is
// the last member, an empty list before they are written into it, and left out
// where they are not wanted.
type document struct {
	stores.Document
	Versions []stores.Version `json:"versions"`
	Passages json.RawMessage  `json:"passages,omitempty"`
}

// getDocument answers with the passages of the version in force, of the newest
// when none is, or of the one asked for.
func (c *calls) getDocument(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	withPassages, err := r.flag("passages", true)
	if err != nil {
		return err
	}
	d, versions, err := c.cfg.Documents.Document(r.Context(), r.tenant, id)
	if err != nil {
		return err
	}
	version, err := r.version(d, versions)
	if err != nil {
		return err
	}
	d.Groups = list(d.Groups)
	for i := range versions {
		versions[i].Groups = list(versions[i].Groups)
	}
	if !withPassages {
		answer(w, http.StatusOK, document{Document: d, Versions: list(versions)})
		return nil
	}
	return writeDocument(w, r, document{d, list(versions), json.RawMessage("[]")}, func(first int) ([]stores.Passage, error) {
		return c.cfg.Documents.DocumentPassages(r.Context(), r.tenant, id, version, first)
	})
}

// version is the number of the version whose passages are meant.
func (r *request) version(d stores.Document, versions []stores.Version) (int, error) {
	text := r.query["version"]
	if text == "" {
		if d.Version == 0 && len(versions) > 0 {
			return versions[0].Version, nil
		}
		return d.Version, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, invalid("version", "a whole number from 1")
	}
	if !slices.ContainsFunc(versions, func(v stores.Version) bool { return v.Version == number }) {
		return 0, stores.ErrNotFound
	}
	return number, nil
}

// writeDocument answers with d and its passages page by page, so that it takes
// no more memory than a page of them. The first page is read before the status
// is told; what fails later breaks the answer off.
func writeDocument(w http.ResponseWriter, r *request, d document, read func(first int) ([]stores.Passage, error)) error {
	page, err := read(0)
	if err != nil {
		return err
	}
	begin(w, http.StatusOK)
	if r.Method == http.MethodHead {
		return nil // nobody is sent what would be read
	}
	const end = "]}\n"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(d)
	b.Truncate(b.Len() - len(end))
	conn := http.NewResponseController(w)
	for written := 0; len(page) > 0; {
		for _, p := range page {
			if written > 0 {
				b.WriteByte(',')
			}
			p.Document, p.Title = "", "" // told once, by the document
			_ = enc.Encode(p)
			b.Truncate(b.Len() - 1) // the line's end
			written++
		}
		_ = conn.SetWriteDeadline(time.Now().Add(writeLimit))
		if _, err := b.WriteTo(w); err != nil {
			return nil // the client left
		}
		if page, err = read(written); err != nil {
			return fmt.Errorf("%w: %w", errBrokenOff, err)
		}
	}
	b.WriteString(end)
	_, _ = b.WriteTo(w)
	return nil
}
