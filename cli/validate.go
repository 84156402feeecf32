package cli

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // zones on machines that have none

	"strata/chat"
	"strata/policy"
)

// keyError is a value that cannot work. Loading adds where the value is from.
type keyError struct{ key, why string }

func (e *keyError) Error() string { return e.key + ": " + e.why }

func bad(key, format string, args ...any) error {
	return &keyError{key, fmt.Sprintf(format, args...)}
}

// validate checks what single values cannot tell. Its errors are *keyError
// and name the fix.
func (c *Config) validate() error {
	for _, check := range []func() error{c.validateChoices, c.validateNumbers, c.validateSecrets, c.validateUpstream, c.validateListeners, c.validateStores, c.validateRetrieval, c.validateIdentity, c.validateIntent} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) validateChoices() error {
	for _, e := range []struct {
		key, value string
		optional   bool
		allowed    []string
	}{
		{"mode", c.Mode, false, []string{"on", "observe", "read-only", "write-only", "off"}},
		{"stage", c.Stage, false, []string{"route", "summary", "write", "recall"}},
		{"identity.preset", c.Identity.Preset, true, []string{"openwebui", "librechat"}},
		{"store.on_error", c.Store.OnError, true, []string{"exit", "passthrough"}},
		{"embedder.rebuild", c.Embedder.Rebuild, false, []string{"manual", "auto"}},
		{"citations", c.Citations, false, []string{"off", "header"}},
		{"auth.mode", c.Auth.Mode, true, []string{"trusted-network"}},
		{"log.level", c.Log.Level, false, []string{"debug", "info", "warn", "error"}},
		{"log.format", c.Log.Format, true, []string{"text", "json"}},
	} {
		if !slices.Contains(e.allowed, e.value) && (!e.optional || e.value != "") {
			return bad(e.key, "%q is not one of %s", e.value, strings.Join(e.allowed, ", "))
		}
	}
	if c.DataDir == "" {
		return bad("data_dir", "empty; name a folder")
	}
	return nil
}

func (c *Config) validateStores() error {
	switch server, err := indexServer(c.Index.URL); {
	case strings.Contains(c.Ledger.URL, "://") && !strings.HasPrefix(c.Ledger.URL, "file://"):
		return bad("ledger.url", "only files are supported; name a path such as /var/lib/strata/strata.db")
	case err != nil:
		return bad("index.url", "%v", err)
	case server == "" && c.Index.APIKey != "":
		return bad("index.api_key", "is for a Weaviate server, and index.url names none; write that like http://weaviate:8080")
	}
	return nil
}

func (c *Config) validateIdentity() error {
	if c.Tenant == "" || len(c.Tenant) > 256 {
		return bad("tenant", "must have 1 to 256 bytes")
	}
	for _, name := range c.Identity.Body {
		if !chat.KnownField(name) {
			return bad("identity.body", "%q is not a member that is read; choose from user, safety_identifier, metadata.…, prompt_cache_key, user_id", name)
		}
	}
	if c.Timezone != "" {
		if _, err := time.LoadLocation(c.Timezone); err != nil {
			return bad("timezone", "%q is no time zone; write it like Asia/Shanghai or UTC", c.Timezone)
		}
	}
	if _, err := policy.DefaultTable().With(c.planChanges()); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		key, why, _ := strings.Cut(first, ": ")
		return bad(key, "%s", why)
	}
	return nil
}

func (c *Config) validateNumbers() error {
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"upstream.queue_wait", c.Upstream.QueueWait}, {"upstream.connect_timeout", c.Upstream.ConnectTimeout},
		{"upstream.first_byte_timeout", c.Upstream.FirstByteTimeout}, {"upstream.idle_timeout", c.Upstream.IdleTimeout},
		{"limits.header_timeout", c.Limits.HeaderTimeout}, {"drain.max", c.Drain.Max},
		{"plan.chat.deadline", c.Plan.Chat.Deadline}, {"plan.rag.deadline", c.Plan.RAG.Deadline}, {"plan.data.deadline", c.Plan.Data.Deadline},
	} {
		if d.value <= 0 {
			return bad(d.key, "must be a positive duration such as 30s")
		}
	}
	switch {
	case c.Plan.Chat.Budget < 1:
		return bad("plan.chat.budget", "must be at least 1 token; the mode write-only gives no context at all")
	case c.Plan.RAG.Budget < 1:
		return bad("plan.rag.budget", "must be at least 1 token; the mode write-only gives no context at all")
	case c.Plan.Data.Budget < 1:
		return bad("plan.data.budget", "must be at least 1 token; the mode write-only gives no context at all")
	case c.Upstream.MaxConnections < 1:
		return bad("upstream.max_connections", "must be at least 1")
	case c.Limits.Header < 4<<10 || c.Limits.Header > 1<<20:
		return bad("limits.header", "must be from 4KB to 1MB")
	case c.Limits.Body < 1:
		return bad("limits.body", "must be larger than 0")
	}
	return nil
}

// validateSecrets keeps out what cannot stand in an Authorization header: it
// would otherwise come out as an error of every single call. It never repeats
// the value.
func (c *Config) validateSecrets() error {
	for _, e := range []struct{ key, value string }{{"upstream.api_key", c.Upstream.APIKey}, {"admin.token", c.Admin.Token}, {"index.api_key", c.Index.APIKey},
		{"embedder.api_key", c.Embedder.APIKey}, {"reranker.api_key", c.Reranker.APIKey}} {
		if strings.ContainsFunc(e.value, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return bad(e.key, "holds a space, a line break or a character outside ASCII; copy it again")
		}
	}
	return nil
}

func (c *Config) validateUpstream() error {
	return c.validateAPI("upstream", c.Upstream.BaseURL, "https://api.openai.com/v1", "; clients send the query")
}

// validateAPI checks the base_url of a group of keys that has an api_key too.
func (c *Config) validateAPI(group, base, example, query string) error {
	key := group + ".base_url"
	u, err := url.Parse(base)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		// The text may hold a password, so it is not repeated.
		return bad(key, "not an http:// or https:// URL; write it like %s", example)
	case u.User != nil:
		return bad(key, "holds a user name or password; put the key into %s.api_key", group)
	case u.RawQuery != "" || u.ForceQuery || strings.Contains(base, "#"):
		return bad(key, "must end with its path%s", query)
	case u.Port() != "" && (!validPort(u.Port()) || u.Port() == "0"):
		return bad(key, "port %s does not exist; ports end at 65535", u.Port())
	}
	for _, l := range c.listeners() {
		if sameListener(l.addr, u) {
			return bad(key, "%s is Strata's own address (%s); name the API behind it", base, l.key)
		}
	}
	return nil
}

// listener is an address to listen on, and the key it comes from.
type listener struct{ key, addr string }

// listeners are those that are not off.
func (c *Config) listeners() []listener {
	all := []listener{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}, {"health.listen", c.Health.Listen}}
	return slices.DeleteFunc(all, func(l listener) bool { return l.addr == "off" && l.key != "listen" })
}

func (c *Config) validateListeners() error {
	all := c.listeners()
	for i, l := range all {
		_, port, err := net.SplitHostPort(l.addr)
		if err != nil || !validPort(port) {
			return bad(l.key, "%q is not host:port, such as 127.0.0.1:4470", l.addr)
		}
		for _, other := range all[:i] {
			if other.addr == l.addr && port != "0" {
				return bad(l.key, "%s is also the address of %s; give it another port", l.addr, other.key)
			}
		}
	}
	if !isLoopback(c.Listen) && c.Auth.Mode != "trusted-network" {
		return bad("listen", "%s can be reached from other machines, and whoever reaches it is trusted; "+
			"use 127.0.0.1, or set auth.mode to trusted-network if the network keeps strangers out", c.Listen)
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && strconv.FormatUint(n, 10) == port
}

// isLoopback tells that only this machine (or pod) can reach addr.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// sameListener tells whether u leads to addr, as far as names alone show.
func sameListener(addr string, u *url.URL) bool {
	host, port, err := net.SplitHostPort(addr)
	uport := u.Port()
	if uport == "" {
		uport = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	if err != nil || port != uport || port == "0" {
		return false
	}
	ip := net.ParseIP(host)
	everywhere := host == "" || ip != nil && ip.IsUnspecified()
	return strings.EqualFold(host, u.Hostname()) || leadsHome(u.Hostname()) && (everywhere || isLoopback(addr))
}

// leadsHome tells whether connecting to host may reach this machine itself:
// every spelling of loopback, also 127.1 and 0x7f000001, and the unspecified
// address.
func leadsHome(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback() || ip.IsUnspecified()
	}
	if strings.Trim(host, "0123456789abcdefx.") != "" {
		return false
	}
	first, _, dotted := strings.Cut(host, ".")
	n, err := strconv.ParseUint(first, 0, 32)
	return err == nil && (dotted && n == 127 || !dotted && (n>>24 == 127 || n == 0))
}
