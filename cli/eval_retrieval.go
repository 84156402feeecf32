package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/internal/eval"
	"strata/internal/tokens"
	"strata/stores"
)

func (p *program) evalRetrievalCommand() *cobra.Command {
	var how evalHow
	cmd := &cobra.Command{
		Use: "retrieval DIR", Short: "Measure how well passages are found",
		Long: `Take a corpus into a store of its own, which is removed afterwards, ask every
question and score what comes back. DIR has corpus.jsonl (_id, title, text, and
where there is one heading), queries.jsonl (_id, text) and qrels.jsonl
(query_id, doc_id, score), one JSON object a line. Recall is the share of a
question's relevant passages in the first 5 or 10, hit whether one is among
them, and block_tokens what a request with the question would be given, on
average. Questions without a relevant passage do not count. They are
searched in a file, or with --on-server on the Weaviate server of index.url, which
keeps nothing of them.

These figures are of the words alone. Where an embedder or a cross-encoder is
configured, those of all together are shown too. What relevance costs and keeps
out is shown as floor_cost, the recall@10 that is lost to it, and with --foreign as
the share of another set's questions that are given something nevertheless.`,
		Example: `  strata eval retrieval sets/handbook
  strata eval retrieval sets/handbook --foreign sets/statutes,sets/cooking
  STRATA_INDEX_URL=http://127.0.0.1:8080 strata eval retrieval sets/handbook --on-server
  strata eval retrieval sets/handbook --json | jq '."recall@5"'`,
		Args: exactlyOne("a folder with corpus.jsonl, queries.jsonl and qrels.jsonl"),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.evalRetrieval(ctx, args[0], how)
		},
	}
	cmd.Flags().BoolVar(&how.asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&how.onServer, "on-server", false, "search on the server of index.url")
	cmd.Flags().StringSliceVar(&how.foreign, "foreign", nil, "folders of other sets, whose questions are asked too")
	return cmd
}

// evalHow is how a set is measured.
type evalHow struct {
	asJSON, onServer bool
	foreign          []string // folders
}

// retrieved are the figures of a set.
type retrieved struct {
	Set      string `json:"set"`
	Passages int    `json:"passages"`
	eval.Figures
	All     *eval.Figures      `json:"all,omitempty"`     // with what is configured beside the words
	Blocks  float64            `json:"block_tokens"`      // tokens of a request's block, on average
	Given   float64            `json:"block_share"`       // share of the questions that get one, 0-1
	Cost    float64            `json:"floor_cost"`        // recall@10 that is lost to the floor, 0-1
	Foreign map[string]float64 `json:"foreign,omitempty"` // by set, the share of its questions that get a block, 0-1
	Ingest  float64            `json:"ingest_s"`          // seconds until the corpus could be searched
}

// evalTenant is whose the corpus is. Its store holds nothing else.
const evalTenant = "eval"

func (p *program) evalRetrieval(ctx context.Context, dir string, how evalHow) error {
	l, err := p.load()
	if err != nil {
		return err
	}
	sets, err := loadSets(append([]string{dir}, how.foreign...))
	if err != nil {
		return usageError{err}
	}
	set := sets[0]
	server := ""
	if how.onServer {
		if server, err = indexServer(l.Config.Index.URL); err != nil || server == "" {
			return usageError{errors.New("--on-server: index.url names no server; set it (STRATA_INDEX_URL), as http://127.0.0.1:8080")}
		}
	}
	x, err := p.openScratch(&l.Config, server)
	if err != nil {
		return err
	}
	defer x.close()
	r := retrieved{Set: set.Name, Passages: len(set.Passages)}
	began := time.Now()
	if err := x.takeCorpus(ctx, set.Passages); err != nil {
		return err
	}
	r.Ingest = time.Since(began).Seconds()
	index := x.backends.Load().index
	r.Figures, err = eval.Retrieval(ctx, set, func(ctx context.Context, query string, limit int) ([]string, error) {
		hits, err := index.Search(ctx, evalTenant, query, limit)
		ids := make([]string, len(hits))
		for i, h := range hits {
			ids[i] = h.ID
		}
		return ids, err
	})
	if err != nil {
		return err
	}
	if r.Queries == 0 {
		return usageError{fmt.Errorf("%s: no question has a relevant passage, so there is nothing to score; qrels.jsonl names them by query_id and doc_id", dir)}
	}
	if err := x.measureBlocks(ctx, set, sets[1:], &r); err != nil {
		return err
	}
	if how.asJSON {
		return p.printJSON(r)
	}
	return p.printRetrieved(r)
}

// takeCorpus puts each passage as a document of its own, so that its id stays.
// Several at a time share the ledger's commits.
func (x *scratch) takeCorpus(ctx context.Context, passages []stores.Passage) error {
	const writers = 8
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan stores.Passage)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for passage := range work {
				d := stores.Draft{ID: passage.ID, Title: passage.Title, SHA256: passage.ID, MediaType: "text/plain",
					Passages: []stores.Passage{{ID: passage.ID, Heading: passage.Heading, Text: passage.Text, Tokens: tokens.Count(passage.Text)}}}
				if err := x.put(ctx, evalTenant, d); err != nil {
					cancel(fmt.Errorf("%s: %w", passage.ID, err))
					return
				}
			}
		})
	}
feed:
	for _, passage := range passages {
		select {
		case work <- passage:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return x.settle(ctx)
}

func (p *program) printRetrieved(r retrieved) error {
	fmt.Fprintf(p.stdout, "%s: %d passages, taken in within %.1f s; %d questions\n", plain(r.Set), r.Passages, r.Ingest, r.Queries)
	figure := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	found := newTable("FOUND BY", "RECALL@5", "RECALL@10", "HIT@5", "MRR@10", "NDCG@10", "P50 MS", "P95 MS")
	add := func(what string, f eval.Figures) {
		found.add(what, figure(f.Recall5), figure(f.Recall10), figure(f.Hit5), figure(f.MRR10), figure(f.NDCG10), fmt.Sprintf("%.2f", f.P50), fmt.Sprintf("%.2f", f.P95))
	}
	add("words", r.Figures)
	if r.All != nil {
		add("all together", *r.All)
	}
	percent := func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }
	given := newTable("QUESTIONS OF", "WITH A BLOCK", "BLOCK TOKENS", "RECALL@10 LOST")
	given.add(r.Set, percent(r.Given), fmt.Sprintf("%.0f", r.Blocks), percent(r.Cost))
	for _, name := range slices.Sorted(maps.Keys(r.Foreign)) {
		given.add(name, percent(r.Foreign[name]), "", "")
	}
	return p.printTables(found, given)
}
