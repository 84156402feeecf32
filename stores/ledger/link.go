package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"reflect"
)

// link is one connection of the driver with its prepared statements, for what
// runs on every request: the writes, the openings and the reads of memories
// and passages. The usual way through database/sql costs about as much again
// as such a statement does. Only one goroutine uses it at a time, and
// statements are not interrupted.
type link struct {
	conn  driver.Conn
	stmts map[string]driver.Stmt
	args  []driver.NamedValue
	row   []driver.Value
}

func newLink(path, options string) (*link, error) {
	conn, err := openConn(path, options)
	if err != nil {
		return nil, err
	}
	return &link{conn: conn, stmts: map[string]driver.Stmt{}}, nil
}

func (c *link) close() (err error) {
	for _, s := range c.stmts {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.conn.Close())
}

// statement returns the prepared statement of a query, with its arguments in
// c.args.
func (c *link) statement(query string, args []any) (driver.Stmt, error) {
	c.args = c.args[:0]
	for i, a := range args {
		v, err := plainValue(a)
		if err != nil {
			return nil, err
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: v})
	}
	if s := c.stmts[query]; s != nil {
		return s, nil
	}
	s, err := c.conn.(driver.ConnPrepareContext).PrepareContext(context.Background(), query)
	if err == nil {
		c.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and returns how many rows it changed.
func (c *link) exec(query string, args []any) (int, error) {
	stmt, err := c.statement(query, args)
	if err != nil {
		return 0, err
	}
	res, err := stmt.(driver.StmtExecContext).ExecContext(context.Background(), c.args)
	clear(c.args)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// each calls do with every row of a query, until that returns false. It keeps
// nothing of the row.
func (c *link) each(query string, args []any, do func(row []driver.Value) (bool, error)) (err error) {
	stmt, err := c.statement(query, args)
	if err != nil {
		return err
	}
	rows, err := stmt.(driver.StmtQueryContext).QueryContext(context.Background(), c.args)
	clear(c.args)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	// Another statement may run for a row, so each has a row of its own.
	row := c.row
	c.row = nil
	if n := len(rows.Columns()); cap(row) < n {
		row = make([]driver.Value, n)
	} else {
		row = row[:n]
	}
	defer func() { clear(row); c.row = row }()
	for more := true; more; {
		switch err := rows.Next(row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if more, err = do(row); err != nil {
			return err
		}
	}
	return nil
}

// first scans the first row of a query; false = there is none.
func (c *link) first(query string, args, into []any) (found bool, err error) {
	err = c.each(query, args, func(row []driver.Value) (bool, error) {
		found = true
		return false, assign(row, into)
	})
	return found && err == nil, err
}

// rows calls do for every row of a query.
func (c *link) rows(query string, args []any, do func(scan func(...any) error) error) error {
	return c.each(query, args, func(row []driver.Value) (bool, error) {
		return true, do(func(into ...any) error { return assign(row, into) })
	})
}

// context is never ended: statements are not interrupted.
func (c *link) context() context.Context { return context.Background() }

// plainValue is v as drivers take it.
func plainValue(v any) (driver.Value, error) {
	switch v := v.(type) {
	case string, int64, float64, bool, []byte, nil:
		return v, nil
	case int:
		return int64(v), nil
	}
	return driver.DefaultParameterConverter.ConvertValue(v)
}

// assign puts a row's values where they are wanted.
func assign(row []driver.Value, into []any) error {
	if len(row) != len(into) {
		return fmt.Errorf("ledger: %d columns for %d values", len(row), len(into))
	}
	for i, v := range row {
		if err := assignOne(v, into[i]); err != nil {
			return fmt.Errorf("ledger: column %d: %w", i, err)
		}
	}
	return nil
}

func assignOne(v driver.Value, into any) error {
	switch to := into.(type) {
	case *string:
		if s, ok := v.(string); ok {
			*to = s
			return nil
		}
	case *int64:
		if n, ok := v.(int64); ok {
			*to = n
			return nil
		}
	case *int:
		if n, ok := v.(int64); ok {
			*to = int(n)
			return nil
		}
	case *float64:
		if f, ok := v.(float64); ok {
			*to = f
			return nil
		}
	case *[]byte:
		if b, ok := v.([]byte); ok {
			*to = b
			return nil
		}
	case sql.Scanner:
		return to.Scan(v)
	}
	// Named types, and what the engine keeps otherwise than it was declared.
	to := reflect.ValueOf(into).Elem()
	from := reflect.ValueOf(v)
	switch {
	case v == nil && to.Kind() == reflect.Slice:
		to.SetZero()
	case from.IsValid() && from.Kind() == to.Kind() && from.CanConvert(to.Type()):
		to.Set(from.Convert(to.Type()))
	case from.IsValid() && to.CanFloat() && from.CanInt():
		to.SetFloat(float64(from.Int()))
	default:
		return fmt.Errorf("%T cannot be put into %s", v, to.Type())
	}
	return nil
}
