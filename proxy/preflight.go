package proxy

import (
	"strata/internal/hostcheck"
)

// preflight answers a browser's question before a cross-origin call, where
// allow_origins is set and names the origin. Any other OPTIONS is upstream's
// to answer, since a preflight carries no key and changes nothing.
func (x *exchange) preflight() bool {
	if !x.ctx.IsOptions() || !x.corsAllowed() || len(x.ctx.Request.Header.Peek("Access-Control-Request-Method")) == 0 {
		return false
	}
	x.out = append(x.out[:0], "HTTP/1.1 204 No Content\r\n"...)
	x.out = x.appendCORS(x.out)
	x.out = append(x.out, "Access-Control-Allow-Methods: GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS\r\n"...)
	x.out = appendLine(x.out, []byte("Access-Control-Allow-Headers"), x.ctx.Request.Header.Peek("Access-Control-Request-Headers"))
	x.out = append(x.out, "Access-Control-Max-Age: 600\r\n\r\n"...)
	x.flush()
	return true
}

// corsAllowed tells that the request comes from a page whose origin
// allow_origins names.
func (x *exchange) corsAllowed() bool {
	return len(x.head.origin) > 0 && len(x.s.cfg.AllowOrigins) > 0 &&
		hostcheck.OriginAllowed(string(x.head.origin), x.s.cfg.AllowOrigins)
}

func (x *exchange) appendCORS(dst []byte) []byte {
	dst = appendLine(dst, []byte("Access-Control-Allow-Origin"), x.head.origin)
	return append(dst, "Vary: Origin\r\n"...)
}
