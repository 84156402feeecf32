package proxy

import (
	"bytes"
	"net/url"
	"strings"
)

// base is the upstream's base URL, split once so that joining a request's
// path to it is a few comparisons.
type base struct {
	prefix string // path before the version segment, "" or "/api"
	path   string // whole path without trailing slash, "" or "/api/v1"
}

// newBase splits the path of u. Repeated and trailing slashes in a configured
// base URL are slips of the keyboard and are dropped.
func newBase(u *url.URL) base {
	path := u.EscapedPath()
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	path = strings.TrimRight(path, "/")
	prefix := path
	for i := 0; i < len(path); {
		end := segmentEnd(path, i)
		if isVersion(path[i+1 : end]) {
			prefix = path[:i]
			break
		}
		i = end
	}
	return base{prefix: prefix, path: path}
}

// versioned tells whether the base holds a version segment such as /v1, so
// that a client's own leading /v1 stands for the same place.
func (b base) versioned() bool { return b.prefix != b.path }

// join appends the upstream's path and query for a client's request target
// to dst. The rules, in order: what already begins with the base path is
// taken as it is; Azure's deployment paths begin at the root of the host; a
// leading /v1 is the client's spelling of a versioned base; any other version
// (/v1beta, /v2) replaces the base's own; the rest goes below the base.
// Slashes are collapsed only where a base URL was glued to a path: in front
// and behind /v1. Everything else keeps its bytes, escapes included.
func (b base) join(dst, target []byte) []byte {
	target = originForm(target)
	rest, hadV1 := trimV1(target)
	switch {
	case !b.versioned():
		if b.path == "" || !hasPathPrefix(target, b.path) {
			dst = append(dst, b.path...)
		}
		if hadV1 {
			dst = append(dst, "/v1"...)
			return append(dst, rest...)
		}
		return append(dst, target...)
	case hasPathPrefix(target, "/openai/deployments"):
		if !hasPathPrefix(target, b.prefix) {
			dst = append(dst, b.prefix...)
		}
		return append(dst, target...)
	case hadV1:
		dst = append(dst, b.path...)
		return append(dst, rest...)
	case hasPathPrefix(target, b.path):
		return append(dst, target...)
	case isVersion(string(firstSegment(target))):
		dst = append(dst, b.prefix...)
		return append(dst, target...)
	}
	dst = append(dst, b.path...)
	return append(dst, target...)
}

// originForm strips scheme and authority of an absolute-form target and
// folds leading slashes into one. "*" stays.
func originForm(target []byte) []byte {
	if len(target) > 0 && target[0] != '/' {
		_, after, ok := bytes.Cut(target, []byte("://"))
		if !ok {
			return target
		}
		i := bytes.IndexAny(after, "/?")
		if i < 0 {
			return []byte("/")
		}
		if after[i] == '?' {
			return append([]byte("/"), after[i:]...)
		}
		target = after[i:]
	}
	for len(target) > 1 && target[0] == '/' && target[1] == '/' {
		target = target[1:]
	}
	return target
}

// trimV1 drops one or more leading /v1 (a client that adds the version to a
// base URL that has it sends /v1/v1/…) and the doubled slash behind them.
func trimV1(target []byte) (rest []byte, ok bool) {
	for hasPathPrefix(target, "/v1") {
		target, ok = target[len("/v1"):], true
		for len(target) > 1 && target[0] == '/' && target[1] == '/' {
			target = target[1:]
		}
	}
	return target, ok
}

// hasPathPrefix tells whether target begins with prefix and the prefix ends
// at the end of a segment.
func hasPathPrefix(target []byte, prefix string) bool {
	if len(target) < len(prefix) || string(target[:len(prefix)]) != prefix {
		return false
	}
	return len(target) == len(prefix) || target[len(prefix)] == '/' || target[len(prefix)] == '?'
}

func firstSegment(target []byte) []byte {
	if len(target) == 0 || target[0] != '/' {
		return nil
	}
	target = target[1:]
	if i := bytes.IndexAny(target, "/?"); i >= 0 {
		target = target[:i]
	}
	return target
}

func segmentEnd(path string, slash int) int {
	if i := strings.IndexByte(path[slash+1:], '/'); i >= 0 {
		return slash + 1 + i
	}
	return len(path)
}

// isVersion reports segments such as v1, v2, v1beta, v1beta1, v1alpha.
func isVersion(segment string) bool {
	if len(segment) < 2 || segment[0] != 'v' {
		return false
	}
	i := 1
	for i < len(segment) && segment[i] >= '0' && segment[i] <= '9' {
		i++
	}
	if i == 1 {
		return false
	}
	stage := strings.TrimRight(segment[i:], "0123456789")
	return stage == "" || stage == "alpha" || stage == "beta"
}

// APIBase is the base URL of the calls of the API at u, as OpenAI's clients
// take it: with its version segment, without a slash at the end.
func APIBase(u *url.URL) string {
	const call = "/chat/completions"
	path := newBase(u).join(nil, []byte("/v1"+call))
	return u.Scheme + "://" + u.Host + strings.TrimSuffix(string(path), call)
}

// isChat tells whether a request target names the chat completions call. Its
// tail decides, so that Azure's deployment paths and any base path match.
func isChat(target []byte) bool {
	if i := bytes.IndexByte(target, '?'); i >= 0 {
		target = target[:i]
	}
	target = bytes.TrimRight(target, "/")
	return bytes.HasSuffix(target, []byte("/chat/completions"))
}
