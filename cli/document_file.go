package cli

import (
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"net/url"
	"strconv"
	"time"
)

// shownDocument is what the documents calls answer, as far as it is shown.
type shownDocument struct {
	ID        string    `json:"id"`
	Title     string    `json:"title"`
	Version   int       `json:"version"`
	Status    string    `json:"status"`
	Groups    []string  `json:"groups"`
	UpdatedAt time.Time `json:"updated_at"`
}

// shownVersions is a document with its versions.
type shownVersions struct {
	shownDocument
	Versions []shownVersion `json:"versions"`
}

type shownVersion struct {
	Version   int       `json:"version"`
	Status    string    `json:"status"`
	Title     string    `json:"title"`
	Groups    []string  `json:"groups"`
	SHA256    string    `json:"sha256"`
	Effective time.Time `json:"effective"`
	Expires   time.Time `json:"expires"`
	Vectors   string    `json:"vectors"`
	Passages  int       `json:"passages"`
	CreatedAt time.Time `json:"created_at"`
}

type shownPassage struct {
	ID      string `json:"id"`
	Ordinal int    `json:"ordinal"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
	Tokens  int    `json:"tokens"`
}

// versions reads a document without its passages.
func (c *client) versions(id string) (d shownVersions, err error) {
	_, err = c.get("/v1/documents/"+segment(id), url.Values{"passages": {"false"}}, &d)
	return d, err
}

// passagesMember is the member of a document that holds its passages. It is the
// last one.
const passagesMember = "passages"

// documentFile is a document with the passages of one version, in a file: they
// may be larger than memory. It is whole, whatever becomes of the server while
// it is read, and whoever is shown it may take long.
type documentFile struct {
	shownVersions
	file   *temporaryFile
	server string
}

// openDocument fetches a document with the passages of a version, 0 for the one
// in force. The caller closes it.
func (c *client) openDocument(id string, version int) (*documentFile, error) {
	query := url.Values{}
	if version > 0 {
		query.Set("version", strconv.Itoa(version))
	}
	file, err := newTemporaryFile()
	if err != nil {
		return nil, err
	}
	d := &documentFile{file: file, server: c.server}
	if err = c.fetch("/v1/documents/"+segment(id), query, file); err == nil {
		err = d.readHead()
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// Close removes the file.
func (d *documentFile) Close() error { return d.file.Close() }

// readHead reads what comes before the passages.
func (d *documentFile) readHead() error {
	head := map[string]json.RawMessage{}
	_, err := d.members(func(name string, value json.RawMessage) error {
		head[name] = value
		return nil
	})
	if err != nil {
		return err
	}
	if b, err := json.Marshal(head); err != nil || json.Unmarshal(b, &d.shownVersions) != nil {
		return d.foreign()
	}
	return nil
}

// members calls member for each member before the passages and returns what
// reads these.
func (d *documentFile) members(member func(name string, value json.RawMessage) error) (passages *json.Decoder, err error) {
	dec := json.NewDecoder(io.NewSectionReader(d.file, 0, math.MaxInt64))
	if begin, err := dec.Token(); err != nil || begin != json.Delim('{') {
		return nil, d.foreign()
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, d.foreign()
		}
		if name == passagesMember {
			return dec, nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil, d.foreign()
		}
		if err := member(name.(string), value); err != nil {
			return nil, err
		}
	}
	return nil, d.foreign()
}

// passagesOf are the passages of d, each decoded into a T, read from its file
// one by one.
func passagesOf[T any](d *documentFile) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		dec, err := d.members(func(string, json.RawMessage) error { return nil })
		if err != nil {
			yield(none, err)
			return
		}
		if begin, err := dec.Token(); err != nil || begin != json.Delim('[') {
			yield(none, d.foreign())
			return
		}
		for dec.More() {
			var p T
			if dec.Decode(&p) != nil {
				yield(none, d.foreign())
				return
			}
			if !yield(p, nil) {
				return
			}
		}
		if _, err := dec.Token(); err != nil {
			yield(none, d.foreign())
		}
	}
}

func (d *documentFile) foreign() error { return foreign(d.server) }
