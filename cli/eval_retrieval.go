package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"strata/assemble"
	"strata/intent"
	"strata/internal/eval"
	"strata/internal/tokens"
	"strata/policy"
	"strata/stores"
)

func (p *program) evalRetrievalCommand() *cobra.Command {
	var asJSON bool
	var onServer bool
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
keeps nothing of them.`,
		Example: `  strata eval retrieval sets/handbook
  STRATA_INDEX_URL=http://127.0.0.1:8080 strata eval retrieval sets/handbook --on-server
  strata eval retrieval sets/handbook --json | jq '."recall@5"'`,
		Args: exactlyOne("a folder with corpus.jsonl, queries.jsonl and qrels.jsonl"),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return p.evalRetrieval(ctx, args[0], onServer, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&onServer, "on-server", false, "search on the server of index.url")
	return cmd
}

// retrieved are the figures of a set.
type retrieved struct {
	Set      string `json:"set"`
	Passages int    `json:"passages"`
	eval.Figures
	Blocks float64 `json:"block_tokens"` // tokens of a request's block, on average
	Given  float64 `json:"block_share"`  // share of the questions that get one, 0-1
	Ingest float64 `json:"ingest_s"`     // seconds until the corpus could be searched
}

// evalTenant is whose the corpus is. Its store holds nothing else.
const evalTenant = "eval"

func (p *program) evalRetrieval(ctx context.Context, dir string, onServer, asJSON bool) error {
	l, err := p.load()
	if err != nil {
		return err
	}
	set, err := eval.Load(dir)
	if err != nil {
		return usageError{err}
	}
	server := ""
	if onServer {
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
	if r.Blocks, r.Given, err = x.blocks(ctx, set); err != nil {
		return err
	}
	if asJSON {
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

// blocks assembles what each question would be given, as one for the
// documents, and returns the tokens on average and how many got any.
func (x *scratch) blocks(ctx context.Context, set eval.Set) (tokens, share float64, err error) {
	b := x.backends.Load()
	parts, err := x.walkContext(b)
	if err != nil {
		return 0, 0, err
	}
	caller := policy.Caller{Tenant: evalTenant, Mode: policy.On, Stage: policy.Recall}
	plan := parts.Plans.PlanFor(caller, intent.Verdict{Intent: intent.RAG, Confidence: 1})
	plan.Deadline = indexPatience // what is found is measured, and not this machine
	open, err := b.ledger.Open(ctx, caller.Scope(), stores.Links{})
	if err != nil {
		return 0, 0, err
	}
	n := 0.0
	for _, q := range set.Queries {
		if len(set.Relevant[q.ID]) == 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		r := parts.Assembler.Assemble(ctx, assemble.Query{Scope: caller.Scope(), Words: q.Text, Room: -1}, plan, open)
		n++
		tokens += float64(r.Tokens)
		if r.Volatile != "" {
			share++
		}
	}
	return tokens / n, share / n, nil
}

func (p *program) printRetrieved(r retrieved) error {
	fmt.Fprintf(p.stdout, "%s: %d passages, taken in within %.1f s; %d questions\n\n", plain(r.Set), r.Passages, r.Ingest, r.Queries)
	t := newTable("RECALL@5", "RECALL@10", "HIT@5", "MRR@10", "NDCG@10", "P50 MS", "P95 MS", "BLOCK TOKENS", "WITH A BLOCK")
	figure := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	t.add(figure(r.Recall5), figure(r.Recall10), figure(r.Hit5), figure(r.MRR10), figure(r.NDCG10), fmt.Sprintf("%.2f", r.P50),
		fmt.Sprintf("%.2f", r.P95), fmt.Sprintf("%.0f", r.Blocks), fmt.Sprintf("%.1f %%", 100*r.Given))
	return t.write(p.stdout)
}
