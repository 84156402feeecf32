package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"strata/ingest"
)

// documents lists the ids of the tenant's documents.
func (u *upload) documents() ([]string, error) {
	rows, _, err := u.c.rows("/v1/documents", "documents", nil, paging{})
	if err != nil {
		return nil, err
	}
	have := make([]string, 0, len(rows))
	for _, raw := range rows {
		var d shownDocument
		if err := json.Unmarshal(raw, &d); err != nil {
			return nil, fmt.Errorf("%s answers documents of another version; nothing was deleted", u.c.server)
		}
		have = append(have, d.ID)
	}
	return have, nil
}

// toDrop is what sync deletes of the documents that were there before, or why
// it deletes nothing. Much that is gone at once is taken for a mistake: a
// folder that is not mounted looks the same.
func (u *upload) toDrop(have []string) (drop []string, refused error) {
	if !u.in.sync {
		return nil, nil
	}
	scope := 0
	for _, id := range have {
		if u.in.prefix == "" || strings.HasPrefix(id, u.in.prefix+"/") {
			scope++
		}
	}
	drop = ingest.Missing(have, u.found, u.in.prefix)
	switch {
	case len(drop) == 0:
		return nil, nil
	case u.unsure:
		return nil, errors.New("nothing is deleted: the front matter of a file cannot be read, and with it not the file's id; put it right and run this again")
	case u.in.force:
		return drop, nil
	case len(u.found) == 0:
		return nil, fmt.Errorf("no file was found, so nothing is deleted; --force deletes all %d documents", len(drop))
	case 2*len(drop) > scope:
		return nil, fmt.Errorf("nothing is deleted: %d of %d documents have no file any more, which is more than half; if that is meant, add --force", len(drop), scope)
	}
	return drop, nil
}

// drop deletes documents. One that is gone already is passed over.
func (p *program) drop(u *upload, ids []string) error {
	for _, id := range ids {
		_, err := u.c.do(http.MethodDelete, "/v1/documents/"+segment(id), nil, nil)
		if failure, ok := errors.AsType[*refusedError](err); ok && failure.status == http.StatusNotFound {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", plain(id), err)
		}
		u.deleted++
		fmt.Fprintf(p.stdout, "deleted    %s\n", plain(id))
	}
	return nil
}
