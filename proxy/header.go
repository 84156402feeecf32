package proxy

import (
	"bytes"
	"strconv"

	"github.com/valyala/fasthttp"
)

// requestHead is what the data plane itself wants to know of a request's
// header lines. Values point into the request.
type requestHead struct {
	identity        []headerLine // of those asked for
	contentEncoding []byte
	connection      []byte // all values of Connection, joined by a comma
	origin          []byte
	fetchSite       []byte
	apiKey          bool // Azure's api-key header is there
	signed          bool // bytes are under a signature
	upgrade         bool // asks for another protocol
	length          bool // Content-Length is there
}

// headerLine is a line by its name in lower case.
type headerLine struct {
	name  string
	value []byte
}

// lookup returns a line's value and how many of its name there are; it is
// policy.Header.
func (h *requestHead) lookup(name string) (value string, copies int) {
	for _, l := range h.identity {
		if l.name == name {
			value = string(l.value)
			copies++
		}
	}
	return value, copies
}

// read looks at every header line once and keeps those with one of names.
func (h *requestHead) read(header *fasthttp.RequestHeader, names []string) {
	*h = requestHead{identity: h.identity[:0]}
	upgrade := false
	for k, v := range header.AllInOrder() {
		for _, name := range names {
			if is(k, name) {
				h.identity = append(h.identity, headerLine{name, v})
				break
			}
		}
		switch len(k) {
		case 6:
			if is(k, "origin") {
				h.origin = v
			}
		case 7:
			if is(k, "api-key") {
				h.apiKey = true
			} else if is(k, "upgrade") {
				upgrade = len(v) > 0
			}
		case 10:
			if is(k, "connection") {
				if h.connection != nil {
					v = bytes.Join([][]byte{h.connection, v}, []byte(","))
				}
				h.connection = v
			}
		case 13:
			if is(k, "authorization") && bytes.HasPrefix(v, []byte("AWS4-")) {
				h.signed = true
			}
		case 14:
			if is(k, "content-length") {
				h.length = true
			} else if is(k, "content-digest") {
				h.signed = true
			} else if is(k, "sec-fetch-site") {
				h.fetchSite = v
			}
		case 16:
			if is(k, "content-encoding") {
				h.contentEncoding = v
			}
		}
	}
	h.upgrade = upgrade && hasToken(h.connection, []byte("upgrade"))
}

// is compares a header name without regard to case; lower is in lower case.
func is(name []byte, lower string) bool {
	if len(name) != len(lower) {
		return false
	}
	for i, c := range name {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// hasToken looks for one token in a comma-separated header value.
func hasToken(list, token []byte) bool {
	for len(list) > 0 {
		var item []byte
		item, list, _ = bytes.Cut(list, []byte(","))
		if bytes.EqualFold(bytes.TrimSpace(item), token) {
			return true
		}
	}
	return false
}

// hopByHop tells whether a header line concerns one connection only. The
// framing lines are not among them: each side writes its own.
func hopByHop(name []byte) bool {
	switch len(name) {
	case 2:
		return is(name, "te")
	case 7:
		return is(name, "upgrade") || is(name, "trailer")
	case 10:
		return is(name, "connection") || is(name, "keep-alive")
	case 16:
		return is(name, "proxy-connection")
	}
	return false
}

// own tells whether a request header line is addressed to Strata.
func own(name []byte) bool {
	return len(name) > 9 && is(name[:9], "x-strata-")
}

// appendRequestHead appends the head of the request for upstream: the
// client's lines in their order and spelling, less those that concern the
// client's connection or Strata, with upstream's host and the body's framing.
func (x *exchange) appendRequestHead(dst []byte) []byte {
	header := &x.ctx.Request.Header
	dst = append(dst, header.Method()...)
	dst = append(dst, ' ')
	dst = append(dst, x.target...)
	dst = append(dst, " HTTP/1.1\r\n"...)
	host, length, auth := false, false, false
	key := x.s.cfg.UpstreamAPIKey
	for k, v := range header.AllInOrder() {
		switch {
		case is(k, "host"):
			if host {
				continue
			}
			v, host = []byte(x.s.upstream.host), true
		case is(k, "content-length"):
			if length || x.size < 0 {
				continue
			}
			dst = appendLength(append(dst, k...), x.size)
			length = true
			continue
		case x.plain && is(k, "content-encoding"):
			continue
		case key != "" && (is(k, "authorization") || is(k, "api-key")):
			if auth || (x.head.apiKey && is(k, "authorization")) {
				continue
			}
			auth = true
			dst = append(dst, k...)
			dst = append(dst, ": "...)
			if is(k, "authorization") {
				dst = append(dst, "Bearer "...)
			}
			dst = append(append(dst, key...), "\r\n"...)
			continue
		case is(k, "transfer-encoding"), is(k, "expect"), is(k, "proxy-authorization"), hopByHop(k), own(k):
			if !(x.head.upgrade && (is(k, "upgrade") || is(k, "connection"))) {
				continue
			}
		case x.head.connection != nil && hasToken(x.head.connection, k):
			continue
		}
		dst = appendLine(dst, k, v)
	}
	if !host {
		dst = appendLine(dst, []byte("Host"), []byte(x.s.upstream.host))
	}
	if key != "" && !auth {
		dst = appendLine(dst, []byte("Authorization"), []byte("Bearer "+key))
	}
	switch {
	case x.size == -1:
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	case x.size >= 0 && !length:
		dst = appendLength(append(dst, "Content-Length"...), x.size)
	}
	return append(dst, "\r\n"...)
}

func appendLine(dst, name, value []byte) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

func appendLength(dst []byte, n int) []byte {
	dst = append(dst, ": "...)
	dst = strconv.AppendInt(dst, int64(n), 10)
	return append(dst, "\r\n"...)
}

// appendAnswerHead appends the head of the answer for the client. block is
// upstream's head, checked already, from its first line to the blank one:
// lines keep their bytes and their order, less those that concern upstream's
// connection. chunked tells how the client's body is framed.
func (x *exchange) appendAnswerHead(dst, block []byte, chunked, upgrade bool) []byte {
	connection := connectionValues(block)
	line, rest := cutLine(block)
	_, status, _ := bytes.Cut(line, []byte(" "))
	dst = append(dst, "HTTP/1.1 "...)
	dst = append(dst, bytes.TrimLeft(status, " ")...)
	dst = append(dst, "\r\n"...)
	drop, framed := false, false
	for len(rest) > 0 {
		line, rest = cutLine(rest)
		if len(line) == 0 {
			break
		}
		if line[0] == ' ' || line[0] == '\t' { // continues the line before
			if !drop {
				dst = append(append(dst, line...), "\r\n"...)
			}
			continue
		}
		name, _, _ := bytes.Cut(line, []byte(":"))
		name = bytes.TrimRight(name, " \t")
		switch {
		case is(name, "transfer-encoding"):
			drop = !chunked && !x.ctx.IsHead()
			framed = true
		case is(name, "content-length"):
			drop = chunked
		case upgrade && (is(name, "upgrade") || is(name, "connection")):
			drop = false
		default:
			drop = hopByHop(name) && !is(name, "trailer") || connection != nil && hasToken(connection, name)
		}
		if !drop {
			dst = append(append(dst, line...), "\r\n"...)
		}
	}
	if chunked && !framed {
		dst = append(dst, "Transfer-Encoding: chunked\r\n"...)
	}
	return dst
}

// connectionValues collects what Connection lines name, besides the two usual
// words.
func connectionValues(block []byte) []byte {
	var all []byte
	for len(block) > 0 {
		var line []byte
		line, block = cutLine(block)
		name, value, ok := bytes.Cut(line, []byte(":"))
		if ok && is(bytes.TrimRight(name, " \t"), "connection") {
			value = bytes.TrimSpace(value)
			if bytes.EqualFold(value, []byte("keep-alive")) || bytes.EqualFold(value, []byte("close")) {
				continue
			}
			all = append(append(all, value...), ',')
		}
	}
	return all
}

// cutLine takes one line, ended by LF or CRLF, off b.
func cutLine(b []byte) (line, rest []byte) {
	i := bytes.IndexByte(b, '\n')
	if i < 0 {
		return b, nil
	}
	return bytes.TrimSuffix(b[:i], []byte("\r")), b[i+1:]
}
