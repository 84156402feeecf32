package main

import (
	"time"

	"github.com/valyala/fasthttp"
)

// newBare is the yardstick: the smallest sensible forwarder on the same HTTP
// library. It copies the request, sends it to upstream (host:port) and passes
// the answer on as it is read. It notices no client that leaves, limits
// nothing, times nothing and reads nothing.
func newBare(upstream string) *fasthttp.Server {
	client := &fasthttp.HostClient{
		Addr:                          upstream,
		MaxConns:                      4096,
		MaxIdleConnDuration:           time.Minute,
		StreamResponseBody:            true,
		DisableHeaderNamesNormalizing: true,
		NoDefaultUserAgentHeader:      true,
		DisablePathNormalizing:        true,
	}
	return &fasthttp.Server{
		DisableHeaderNamesNormalizing: true,
		NoDefaultServerHeader:         true,
		NoDefaultDate:                 true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			req := fasthttp.AcquireRequest()
			defer fasthttp.ReleaseRequest(req)
			ctx.Request.CopyTo(req)
			req.SetHost(upstream)
			// Do leaves the upstream's body in the response as a stream, which the
			// server then reads and writes piece by piece.
			if err := client.Do(req, &ctx.Response); err != nil {
				ctx.Error(err.Error(), fasthttp.StatusBadGateway)
				return
			}
			ctx.Response.ImmediateHeaderFlush = ctx.Response.Header.ContentLength() < 0
		},
	}
}
