// Package hostcheck decides which Host names and browser origins a listener
// answers to, so that a web page cannot reach a loopback service by pointing
// a name of its own at it (DNS rebinding). It knows nothing of requests.
package hostcheck

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Allowed tells whether host, a Host header with or without port, may name a
// loopback listener: an IP address, localhost and names below it, a name of
// one label or below .internal (nobody can register those), or one of extra.
// An empty Host is allowed: no browser sends one.
func Allowed(host string, extra []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if !strings.Contains(name, ".") || strings.HasSuffix(name, ".localhost") || strings.HasSuffix(name, ".internal") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	for _, e := range extra {
		if strings.EqualFold(e, name) || strings.EqualFold(e, host) {
			return true
		}
	}
	return false
}

// OriginAllowed tells whether origin, an Origin header, is one of extra;
// "*" stands for any. Scheme, host and port must be the same.
func OriginAllowed(origin string, extra []string) bool {
	for _, e := range extra {
		if e == "*" || sameOrigin(e, origin) {
			return origin != ""
		}
	}
	return false
}

func sameOrigin(a, b string) bool {
	ua, err := url.Parse(strings.TrimSuffix(a, "/"))
	if err != nil {
		return false
	}
	ub, err := url.Parse(b)
	return err == nil && ua.Host != "" && strings.EqualFold(ua.Scheme, ub.Scheme) && strings.EqualFold(ua.Host, ub.Host)
}
