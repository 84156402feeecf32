package ledger

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"

	"strata/stores"
)

// openers is how many openings are read at once. They take some 15 µs each.
const openers = 4

// openings reads what walks start with, each in one of a few goroutines that
// have a connection of their own. Whoever asks leaves when its context ends;
// the read ends by itself.
type openings struct {
	ask   chan *opening
	stop  chan struct{}
	works sync.WaitGroup
	links []*link
}

// opening is one read. Who has stopped waiting leaves it to the reader.
type opening struct {
	query string
	args  []any
	row   string
	err   error
	done  chan struct{}
}

func newOpenings(path string) (*openings, error) {
	o := &openings{ask: make(chan *opening), stop: make(chan struct{})}
	for range openers {
		c, err := newLink(path, readerOptions)
		if err != nil {
			return nil, errors.Join(err, o.close())
		}
		o.links = append(o.links, c)
		o.works.Go(func() { o.work(c) })
	}
	return o, nil
}

func (o *openings) close() (err error) {
	close(o.stop)
	o.works.Wait()
	for _, c := range o.links {
		err = errors.Join(err, c.close())
	}
	return err
}

func (o *openings) work(c *link) {
	for {
		select {
		case q := <-o.ask:
			q.row, q.err = readText(c, q.query, q.args)
			close(q.done)
		case <-o.stop:
			return
		}
	}
}

// readText returns the one column of the one row of a query.
func readText(c *link, query string, args []any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("ledger: a read panicked: %v", p)
		}
	}()
	err = c.each(query, args, func(row []driver.Value) (bool, error) { return false, assign(row, []any{&text}) })
	return text, classify(err)
}

// read returns the one column of the one row of a query.
func (o *openings) read(ctx context.Context, query string, args []any) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	q := &opening{query: query, args: args, done: make(chan struct{})}
	select {
	case o.ask <- q:
	case <-o.stop:
		return "", stores.ErrClosed
	case <-ctx.Done():
		return "", ctx.Err()
	}
	select {
	case <-q.done:
		return q.row, q.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
