package cli

import (
	"context"
	"errors"
	"slices"

	"strata/assemble"
	"strata/intent"
	"strata/internal/eval"
	"strata/policy"
	"strata/stores"
)

// enoughBudget is more than any block takes, in tokens: then only what was
// found counts.
const enoughBudget = 1_000_000

// evalAsker assembles what questions would be given, as ones for the documents.
type evalAsker struct {
	assembler proxyAssembler
	scope     stores.Scope
	plan      policy.Plan
	open      stores.Opening
}

// proxyAssembler is the data plane's.
type proxyAssembler interface {
	Assemble(context.Context, assemble.Query, policy.Plan, stores.Opening) assemble.Result
}

func (x *scratch) asker(ctx context.Context) (*evalAsker, error) {
	b := x.backends.Load()
	parts, err := x.walkContext(b)
	if err != nil {
		return nil, err
	}
	caller := policy.Caller{Tenant: evalTenant, Mode: policy.On, Stage: policy.Recall}
	plan := parts.Plans.PlanFor(caller, intent.Verdict{Intent: intent.RAG, Confidence: 1})
	plan.Deadline = indexPatience // what is found is measured, and not this machine
	open, err := b.ledger.Open(ctx, caller.Scope(), stores.Links{})
	return &evalAsker{parts.Assembler, caller.Scope(), plan, open}, err
}

// found are the passages that a question finds, best first, with or without the
// floor.
func (a *evalAsker) found(ctx context.Context, words string, floor bool) ([]string, error) {
	plan := a.plan
	plan.Budget = enoughBudget
	if !floor {
		plan.Floor = 0
	}
	r := a.ask(ctx, words, plan)
	for _, s := range r.Skipped {
		if s.ID == "" {
			return nil, errors.New(s.Name + ": " + s.Reason)
		}
	}
	return r.Items, ctx.Err()
}

func (a *evalAsker) ask(ctx context.Context, words string, plan policy.Plan) assemble.Result {
	return a.assembler.Assemble(ctx, assemble.Query{Scope: a.scope, Words: words, Room: -1}, plan, a.open)
}

// measureBlocks measures what requests with the questions would be given, and
// what the floor costs and keeps out.
func (x *scratch) measureBlocks(ctx context.Context, set eval.Set, foreign []eval.Set, r *retrieved) error {
	a, err := x.asker(ctx)
	if err != nil {
		return err
	}
	all, err := eval.Retrieval(ctx, set, func(ctx context.Context, query string, _ int) ([]string, error) { return a.found(ctx, query, false) })
	if err != nil {
		return err
	}
	floored, err := eval.Retrieval(ctx, set, func(ctx context.Context, query string, _ int) ([]string, error) { return a.found(ctx, query, true) })
	if err != nil {
		return err
	}
	r.Cost = all.Recall10 - floored.Recall10
	if x.backends.Load().meaning != nil || x.cfg.Reranker.BaseURL != "" {
		r.All = &all
	}
	if r.Blocks, r.Given, err = a.blocks(ctx, set, func(q eval.Query) bool { return len(set.Relevant[q.ID]) > 0 }); err != nil {
		return err
	}
	for _, other := range foreign {
		if r.Foreign == nil {
			r.Foreign = map[string]float64{}
		}
		if _, r.Foreign[other.Name], err = a.blocks(ctx, other, func(eval.Query) bool { return true }); err != nil {
			return err
		}
	}
	return nil
}

// blocks returns the tokens of the blocks of a set's questions, on average, and
// the share of the questions that get one.
func (a *evalAsker) blocks(ctx context.Context, set eval.Set, counts func(eval.Query) bool) (tokens, share float64, err error) {
	n := 0.0
	for _, q := range slices.DeleteFunc(slices.Clone(set.Queries), func(q eval.Query) bool { return !counts(q) }) {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		r := a.ask(ctx, q.Text, a.plan)
		n++
		tokens += float64(r.Tokens)
		if r.Volatile != "" {
			share++
		}
	}
	return tokens / max(n, 1), share / max(n, 1), nil
}

func loadSets(dirs []string) ([]eval.Set, error) {
	out := make([]eval.Set, len(dirs))
	for i, dir := range dirs {
		var err error
		if out[i], err = eval.Load(dir); err != nil {
			return nil, err
		}
	}
	return out, nil
}
