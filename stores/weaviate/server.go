package weaviate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/weaviate/weaviate-go-client/v4/weaviate/batch"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/connection"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/fault"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/misc"
	"github.com/weaviate/weaviate-go-client/v4/weaviate/schema"
	"github.com/weaviate/weaviate/entities/models"
)

// oldest is the first version that wakes tenants by itself and keeps words in
// the inverted index that is searched here.
const oldestMajor, oldestMinor = 1, 30

var errOld = fmt.Errorf("weaviate: the server is older than %d.%d", oldestMajor, oldestMinor)

// server is what is said to a Weaviate. Its errors tell what the server
// answered, and never hold the key.
type server struct {
	con       *connection.Connection
	transport *http.Transport
	schema    *schema.API
	batch     *batch.API
	misc      *misc.API
}

// newServer opens no connection. It puts the client together from its parts
// instead of by its constructor. That one asks the server for ways to log in
// when it is given a key, waiting for one that is not there; and what it
// connects by has a finalizer that blocks those of the whole program.
func newServer(scheme, host, key string) *server {
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       time.Minute,
		ResponseHeaderTimeout: writeLimit,
	}
	headers := map[string]string{}
	if key != "" {
		headers["Authorization"] = "Bearer " + key
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return errors.New("the server answered with a redirect, which is not followed")
	}}
	con := connection.NewConnection(scheme, host, client, 0, headers)
	runtime.SetFinalizer(con, nil)
	return &server{con: con, transport: transport, schema: schema.New(con), batch: batch.New(con, nil, nil), misc: misc.New(con, nil)}
}

func (s *server) close() { s.transport.CloseIdleConnections() }

// check asks whether the server is there, takes the key and is new enough.
func (s *server) check(ctx context.Context) error {
	ready, err := s.con.RunREST(ctx, "/.well-known/ready", http.MethodGet, nil)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if ready.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: it is not ready (%d)", ErrUnavailable, ready.StatusCode)
	}
	meta, err := s.misc.MetaGetter().Do(ctx)
	if err != nil {
		return told(err)
	}
	major, rest, _ := strings.Cut(meta.Version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, errA := strconv.Atoi(major)
	b, errB := strconv.Atoi(minor)
	if errA != nil || errB != nil || a < oldestMajor || a == oldestMajor && b < oldestMinor {
		return fmt.Errorf("%w: it is %q", errOld, meta.Version)
	}
	return nil
}

// answer is an error that the server answered with.
type answer struct {
	status int // of HTTP; 0 for an error inside of a good answer
	says   string
}

func (a *answer) Error() string {
	if a.status == 0 {
		return "the server says: " + a.says
	}
	return fmt.Sprintf("the server says %d: %s", a.status, a.says)
}

func answered(err error) bool {
	var a *answer
	return errors.As(err, &a)
}

// maxSays is how many bytes of what a server says are told.
const maxSays = 300

// told makes of the client's errors what they stand for: nested ones, with the
// status in an inner one or none at all, and the end of a context among them.
func told(err error) error {
	if err == nil {
		return nil
	}
	for e := (*fault.WeaviateClientError)(nil); errors.As(err, &e); {
		if e.StatusCode > 0 {
			return toldStatus(e.StatusCode, []byte(e.Msg))
		}
		if e.DerivedFromError == nil {
			return &answer{says: shorten(e.Msg)}
		}
		err, e = e.DerivedFromError, nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func toldStatus(status int, body []byte) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w (%d)", ErrRefused, status)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return fmt.Errorf("%w: it answers %d", ErrUnavailable, status)
	}
	var known models.ErrorResponse
	if json.Unmarshal(body, &known) == nil && len(known.Error) > 0 {
		return &answer{status, shorten(messages(&known))}
	}
	return &answer{status, shorten(string(body))}
}

func messages(r *models.ErrorResponse) string {
	var all []string
	for _, e := range r.Error {
		if e != nil {
			all = append(all, e.Message)
		}
	}
	return strings.Join(all, "; ")
}

func shorten(s string) string {
	if len(s) > maxSays {
		s = s[:maxSays] + "…"
	}
	return strings.ToValidUTF8(s, "?")
}

// query runs a GraphQL query and decodes its data into result. GraphQL's own
// errors come in a good answer: they are errors here.
func (s *server) query(ctx context.Context, query string, result any) error {
	body := models.GraphQLQuery{Query: query}
	r, err := s.con.RunREST(ctx, "/graphql", http.MethodPost, body)
	if err != nil {
		return told(err)
	}
	if r.StatusCode != http.StatusOK {
		return toldStatus(r.StatusCode, r.Body)
	}
	got := struct {
		Data   any
		Errors []*models.GraphQLError
	}{Data: result}
	if err := json.Unmarshal(r.Body, &got); err != nil {
		return fmt.Errorf("the server's answer is not understood: %w", err)
	}
	if len(got.Errors) > 0 {
		says := ""
		for _, e := range got.Errors {
			if e != nil && says == "" {
				says = e.Message
			}
		}
		return &answer{says: shorten(says)}
	}
	return nil
}
