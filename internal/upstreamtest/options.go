package upstreamtest

import "time"

// Option changes how a server treats its connections.
type Option func(*options)

type options struct {
	noRecord    bool
	idleClose   time.Duration
	maxRequests int
	readDelay   time.Duration
	neverRead   bool
	onHead      Handler
}

// NoRecord keeps no requests, for load tests. Calls still counts. A Request and
// its slices are then valid only until the handler returns, and a leaving peer
// is noticed only while a script pauses, waits or is silent.
func NoRecord() Option { return func(o *options) { o.noRecord = true } }

// IdleClose closes a connection when no byte of a next request has arrived d
// after the end of an answer.
func IdleClose(d time.Duration) Option { return func(o *options) { o.idleClose = d } }

// MaxRequests closes a connection after its nth answer, without announcing it.
func MaxRequests(n int) Option { return func(o *options) { o.maxRequests = n } }

// ReadDelay stops reading for d after the first byte of every request.
func ReadDelay(d time.Duration) Option { return func(o *options) { o.readDelay = d } }

// NeverRead accepts connections and reads nothing from them, until the server
// closes. A leaving peer cannot be noticed then.
func NeverRead() Option { return func(o *options) { o.neverRead = true } }

// OnHead is asked when the head of a request has arrived and its body has not
// been read. A script is answered at once and the connection closes after it; a
// leaving peer is not noticed meanwhile, which would take reading. nil goes on
// to read the body and to ask the handler.
func OnHead(h Handler) Option { return func(o *options) { o.onHead = h } }
