package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"strata/stores"
)

// directs is how many direct reads run at once. They take 15 to 300 µs each.
const directs = 8

// direct runs the reads that requests wait for, each in one of a few
// goroutines that have a connection of their own. Whoever asks leaves when its
// context ends; the read ends by itself.
type direct struct {
	ask   chan func(*link)
	stop  chan struct{}
	works sync.WaitGroup
	links []*link
}

func newDirect(path string) (*direct, error) {
	d := &direct{ask: make(chan func(*link)), stop: make(chan struct{})}
	for range directs {
		c, err := newLink(path, readerOptions)
		if err != nil {
			return nil, errors.Join(err, d.close())
		}
		d.links = append(d.links, c)
		d.works.Go(func() { d.work(c) })
	}
	return d, nil
}

func (d *direct) close() (err error) {
	close(d.stop)
	d.works.Wait()
	for _, c := range d.links {
		err = errors.Join(err, c.close())
	}
	return err
}

func (d *direct) work(c *link) {
	for {
		select {
		case read := <-d.ask:
			read(c)
		case <-d.stop:
			return
		}
	}
}

// directly returns what read returns, or ctx's error when that ends first. So
// read must touch nothing that its caller goes on with.
func directly[T any](ctx context.Context, d *direct, read func(s source) (T, error)) (T, error) {
	type answer struct {
		v   T
		err error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	got := make(chan answer, 1)
	run := func(c *link) {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("ledger: a read panicked: %v", p)
			}
			got <- a
		}()
		a.v, a.err = read(c)
	}
	select {
	case d.ask <- run:
	case <-d.stop:
		return none, stores.ErrClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case a := <-got:
		return a.v, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// text returns the one column of the one row of a query, "" when there is no
// row.
func (l *Ledger) text(ctx context.Context, query string, args []any) (string, error) {
	return directly(ctx, l.direct, func(s source) (text string, err error) {
		_, err = one(s, query, args, &text)
		return text, err
	})
}
