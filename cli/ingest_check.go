package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"strata/stores"
)

// preflight tries the new versions before anybody is served them: in a Strata
// of its own with a copy of the tenant's documents, without those that are
// about to be deleted. It asks the questions there; one that fails is an
// error, and nothing was published then. Memories are not copied.
func (p *program) preflight(ctx context.Context, u *upload, drop []string) error {
	l, err := p.load()
	if err != nil {
		return err
	}
	x, err := p.openScratch(&l.Config, "")
	if err != nil {
		return err
	}
	defer x.close()
	t := target{server: x.control(), token: x.adminToken, tenant: u.c.tenant}
	if t.tenant == "" {
		t.tenant = l.Tenant
	}
	c, err := p.client(t)
	if err != nil {
		return err
	}
	without := map[string]bool{}
	for _, id := range drop {
		without[id] = true
	}
	if err := x.copyDocuments(ctx, u.c, t.tenant, without); err != nil {
		return err
	}
	trial := *u
	trial.c, trial.sums = c, map[string]string{}
	quiet := *p
	quiet.stdout, trial.report, trial.failed = io.Discard, nil, nil
	if err := quiet.ingestFiles(ctx, &trial); err != nil {
		return err
	}
	if err := x.settle(ctx); err != nil {
		return err
	}
	_, failed, err := p.onRunning(c, asking{proxy: x.url()}).all(u.questions, p.stdout)
	switch {
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d of %d questions failed, so nothing is published and nothing deleted", failed, len(u.questions))
	}
	return nil
}

// copyDocuments takes over the tenant's documents as they are in force, but
// those of without.
func (x *scratch) copyDocuments(ctx context.Context, from *client, tenant string, without map[string]bool) error {
	rows, _, err := from.rows("/v1/documents", "documents", nil, paging{})
	if err != nil {
		return err
	}
	for _, raw := range rows {
		var row shownDocument
		if err := json.Unmarshal(raw, &row); err != nil {
			return fmt.Errorf("%s answers documents of another version, which cannot be checked", from.server)
		}
		if without[row.ID] || row.Version == 0 { // nothing of it is served
			continue
		}
		if err := x.copyDocument(ctx, from, tenant, row.ID); err != nil {
			return fmt.Errorf("%s: %w", plain(row.ID), err)
		}
	}
	return x.settle(ctx)
}

func (x *scratch) copyDocument(ctx context.Context, from *client, tenant, id string) error {
	d, err := from.openDocument(id, 0)
	if notFound(err) {
		return errors.New("it is gone meanwhile; run this again")
	}
	if err != nil {
		return err
	}
	defer d.Close()
	draft := stores.Draft{ID: d.ID, Title: d.Title, MediaType: "text/plain", Groups: d.Groups, More: copied(d)}
	for _, v := range d.Versions {
		if v.Version == d.Version {
			draft.SHA256, draft.Effective, draft.Expires = v.SHA256, v.Effective, v.Expires
		}
	}
	return x.put(ctx, tenant, draft)
}

// copied are the passages of d as they are put again.
func copied(d *documentFile) iter.Seq2[stores.Passage, error] {
	return func(yield func(stores.Passage, error) bool) {
		for p, err := range passagesOf[shownPassage](d) {
			if !yield(stores.Passage{Heading: p.Heading, Text: p.Text, Tokens: p.Tokens}, err) {
				return
			}
		}
	}
}
