package cli

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Config is everything that can be set. The yaml tags are the keys, the doc
// tags what `config init` writes about them; secret marks values that are
// never shown and have a twin key ending in _file.
type Config struct {
	Listen  string `yaml:"listen" doc:"Where apps send their OpenAI calls."`
	DataDir string `yaml:"data_dir" doc:"Folder for everything Strata keeps. Default: $XDG_DATA_HOME/strata."`
	Mode    string `yaml:"mode" doc:"What happens to chat requests: on, observe, read-only, write-only, off. X-Strata-Mode overrides it per request."`

	Upstream struct {
		BaseURL          string        `yaml:"base_url" doc:"The API behind Strata, with or without its version segment."`
		APIKey           string        `yaml:"api_key" secret:"true" doc:"Sent to upstream in place of the client's key. Empty: clients bring their own."`
		MaxConnections   int           `yaml:"max_connections" doc:"Requests in flight at one time; more wait."`
		QueueWait        time.Duration `yaml:"queue_wait" doc:"How long they wait before they get a 503."`
		ConnectTimeout   time.Duration `yaml:"connect_timeout" doc:"For connecting, TLS included."`
		FirstByteTimeout time.Duration `yaml:"first_byte_timeout" doc:"For an answer to begin. Thinking models take minutes."`
		IdleTimeout      time.Duration `yaml:"idle_timeout" doc:"For silence within an answer. A whole answer may take any time."`
	} `yaml:"upstream"`

	Limits struct {
		Header        Size          `yaml:"header" doc:"Largest head of a request or an answer (4KB to 1MB)."`
		Body          Size          `yaml:"body" doc:"Largest request body."`
		HeaderTimeout time.Duration `yaml:"header_timeout" doc:"For a request's head to arrive, and the slack a body gets above 4 KB a second."`
	} `yaml:"limits"`

	Enrich struct {
		MaxBody Size `yaml:"max_body" doc:"Chat bodies above this pass through unread."`
		Buffers Size `yaml:"buffers" doc:"Memory for all chat bodies held at one time; when used up, further ones pass through unread."`
	} `yaml:"enrich"`

	AllowOrigins []string `yaml:"allow_origins" doc:"Origins of browser pages that may call, such as http://localhost:3000."`
	AllowHosts   []string `yaml:"allow_hosts" doc:"Further Host names for loopback listeners, which otherwise answer to addresses, localhost, single-label and .internal names."`

	Auth struct {
		Mode string `yaml:"mode" doc:"Must be trusted-network before listen may be other than loopback: whoever reaches it is trusted."`
	} `yaml:"auth"`

	Admin struct {
		Listen string `yaml:"listen" doc:"Control plane and metrics; off for none."`
		Token  string `yaml:"token" secret:"true" doc:"Bearer token of the control plane. Default: made at first start in data_dir/admin.token."`
	} `yaml:"admin"`

	Health struct {
		Listen string `yaml:"listen" doc:"Another address for /livez, /readyz and /metrics alone, for probes; off for none."`
	} `yaml:"health"`

	Drain struct {
		Max time.Duration `yaml:"max" doc:"How long answers in flight may go on after SIGTERM."`
	} `yaml:"drain"`

	Log struct {
		Level  string `yaml:"level" doc:"debug, info, warn or error."`
		Format string `yaml:"format" doc:"text or json. Default: text on a terminal, else json."`
	} `yaml:"log"`
}

// defaults returns the configuration of an empty file.
func defaults(getenv func(string) string) Config {
	var c Config
	c.Listen = "127.0.0.1:4470"
	c.DataDir = defaultDataDir(getenv)
	c.Mode = "on"
	c.Upstream.BaseURL = "https://api.openai.com/v1"
	c.Upstream.MaxConnections = 4096
	c.Upstream.QueueWait = 5 * time.Second
	c.Upstream.ConnectTimeout = 10 * time.Second
	c.Upstream.FirstByteTimeout = 15 * time.Minute
	c.Upstream.IdleTimeout = 15 * time.Minute
	c.Limits.Header = 16 << 10
	c.Limits.Body = 100 << 20
	c.Limits.HeaderTimeout = 30 * time.Second
	c.Enrich.MaxBody = 16 << 20
	c.Enrich.Buffers = 256 << 20
	c.Admin.Listen = "127.0.0.1:4471"
	c.Health.Listen = "off"
	c.Drain.Max = 25 * time.Second
	c.Log.Level = "info"
	return c
}

func defaultDataDir(getenv func(string) string) string {
	if dir := getenv("XDG_DATA_HOME"); dir != "" {
		return dir + "/strata"
	}
	if home := getenv("HOME"); home != "" {
		return home + "/.local/share/strata"
	}
	return "/var/lib/strata"
}

// Size is a number of bytes: 16777216, 16KB, 16KiB, 16MB, 1GB. The units are
// powers of 1024 with and without the i.
type Size int64

// ParseSize reads a Size.
func ParseSize(text string) (Size, error) {
	t := strings.ToUpper(strings.TrimSpace(text))
	unit := int64(1)
	for i, suffix := range []string{"K", "M", "G"} {
		for _, s := range []string{suffix + "IB", suffix + "B", suffix} {
			if rest, ok := strings.CutSuffix(t, s); ok && unit == 1 {
				t, unit = strings.TrimSpace(rest), int64(1)<<(10*(i+1))
			}
		}
	}
	t = strings.TrimSuffix(t, "B")
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a size; write it like 16KB or 100MB", text)
	}
	return Size(n * unit), nil
}

func (s Size) String() string {
	for i, unit := range []string{"GB", "MB", "KB"} {
		if n := Size(1) << (10 * (3 - i)); s >= n && s%n == 0 {
			return fmt.Sprintf("%d%s", s/n, unit)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// validate checks what single values cannot tell. Errors name the key and the
// fix.
func (c *Config) validate() error {
	for _, e := range []struct {
		key, value string
		allowed    []string
	}{
		{"mode", c.Mode, []string{"on", "observe", "read-only", "write-only", "off"}},
		{"auth.mode", c.Auth.Mode, []string{"", "trusted-network"}},
		{"log.level", c.Log.Level, []string{"debug", "info", "warn", "error"}},
		{"log.format", c.Log.Format, []string{"", "text", "json"}},
	} {
		if !oneOf(e.value, e.allowed) {
			return fmt.Errorf("%s: %q is not one of %s", e.key, e.value, strings.Join(nonEmpty(e.allowed), ", "))
		}
	}
	for _, d := range []struct {
		key   string
		value time.Duration
	}{
		{"upstream.queue_wait", c.Upstream.QueueWait}, {"upstream.connect_timeout", c.Upstream.ConnectTimeout},
		{"upstream.first_byte_timeout", c.Upstream.FirstByteTimeout}, {"upstream.idle_timeout", c.Upstream.IdleTimeout},
		{"limits.header_timeout", c.Limits.HeaderTimeout}, {"drain.max", c.Drain.Max},
	} {
		if d.value <= 0 {
			return fmt.Errorf("%s: must be a positive duration such as 30s", d.key)
		}
	}
	switch {
	case c.Upstream.MaxConnections < 1:
		return errors.New("upstream.max_connections: must be at least 1")
	case c.Limits.Header < 4<<10 || c.Limits.Header > 1<<20:
		return errors.New("limits.header: must be from 4KB to 1MB")
	case c.Limits.Body < 1:
		return errors.New("limits.body: must be larger than 0")
	case c.Admin.Listen == "":
		return errors.New("admin.listen: empty; write off for none")
	case c.Health.Listen == "":
		return errors.New("health.listen: empty; write off for none")
	case c.DataDir == "":
		return errors.New("data_dir: empty; name a folder")
	}
	return c.validateAddresses()
}

func (c *Config) validateAddresses() error {
	for _, l := range []struct{ key, addr string }{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}, {"health.listen", c.Health.Listen}} {
		if l.addr == "off" && l.key != "listen" {
			continue
		}
		if _, port, err := net.SplitHostPort(l.addr); err != nil || !validPort(port) {
			return fmt.Errorf("%s: %q is not host:port, such as 127.0.0.1:4470", l.key, l.addr)
		}
	}
	u, err := url.Parse(c.Upstream.BaseURL)
	switch {
	case err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "":
		return fmt.Errorf("upstream.base_url: %q is not an http:// or https:// URL", c.Upstream.BaseURL)
	case u.User != nil:
		return errors.New("upstream.base_url: holds a user name or password; put the key into upstream.api_key")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("upstream.base_url: must end with its path; clients send the query")
	}
	for _, l := range []struct{ key, addr string }{{"listen", c.Listen}, {"admin.listen", c.Admin.Listen}, {"health.listen", c.Health.Listen}} {
		if l.addr != "off" && sameListener(l.addr, u) {
			return fmt.Errorf("upstream.base_url: %s is Strata's own address (%s); name the API behind it", c.Upstream.BaseURL, l.key)
		}
	}
	if !isLoopback(c.Listen) && c.Auth.Mode != "trusted-network" {
		return fmt.Errorf("listen: %s can be reached from other machines, and whoever reaches it is trusted; "+
			"use 127.0.0.1, or set auth.mode to trusted-network if the network keeps strangers out", c.Listen)
	}
	return nil
}

func validPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= 0 && n <= 65535
}

// isLoopback tells that only this machine (or pod) can reach addr.
func isLoopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
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
	local := isLoopback(net.JoinHostPort(u.Hostname(), uport))
	if uip := net.ParseIP(u.Hostname()); uip != nil && uip.IsUnspecified() {
		local = true
	}
	return strings.EqualFold(host, u.Hostname()) || local && (everywhere || isLoopback(addr))
}

func oneOf(value string, allowed []string) bool {
	for _, a := range allowed {
		if a == value {
			return true
		}
	}
	return false
}

func nonEmpty(list []string) []string {
	if len(list) > 0 && list[0] == "" {
		return list[1:]
	}
	return list
}
