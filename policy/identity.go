package policy

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/chat"
)

// Header looks a request header up by its lower-case name and tells how often
// it was sent; value is the first one's, as the transport read it.
type Header func(name string) (value string, copies int)

// IdentityHeaders names the headers that identity comes from. An empty name
// is the preset's, else X-Strata-*. Each fact has one place: a header that is
// not the named one is never asked.
type IdentityHeaders struct{ Tenant, User, Session, Groups string }

// IdentityConfig says where identity comes from.
type IdentityConfig struct {
	Tenant      string   // where no header names one; "" = default
	DefaultUser string   // where nothing names one; "" = nobody
	Preset      string   // openwebui, librechat or ""
	Body        []string // request members besides safety_identifier that name the user, in this order
	Headers     IdentityHeaders
	UserText    string // regular expression; its one group is what the user wrote
	Mode        Mode   // without a header; "" = on
	Stage       Stage  // "" = recall
	Loopback    bool   // the listener is reached from this machine only
	Trusted     bool   // auth.mode trusted-network: what the network says is true
	Zone        string // IANA name of the users' zone where they name none; "" = unknown
}

const (
	identityTenant = "default"
	identityMax    = 256 // bytes of one value
	identityGroups = 64  // groups of one user
	identityList   = 16 << 10
	identityFix    = "fix=identity"
)

// The request headers that are Strata's own, in lower case.
const (
	headerTenant   = "x-strata-tenant"
	headerUser     = "x-strata-user"
	headerSession  = "x-strata-session"
	headerGroups   = "x-strata-groups"
	headerIntent   = "x-strata-intent"
	headerMode     = "x-strata-mode"
	headerTimezone = "x-strata-timezone"
	headerTask     = "x-strata-task"
)

// TaskTemplate is the Task of a helper call that was known by its words.
const TaskTemplate = "template"

// Identity reads who asks. Make it with NewIdentity; it is safe for
// concurrent use.
type Identity struct {
	cfg      IdentityConfig
	headers  IdentityHeaders // lower case, all set
	names    []string
	fields   []string // body members in their order
	preset   frontEnd
	userText *regexp.Regexp // nil = none
}

// NewIdentity checks the configuration. An error names the key.
func NewIdentity(cfg IdentityConfig) (*Identity, error) {
	preset, ok := frontEnds[cfg.Preset]
	if !ok {
		return nil, fmt.Errorf("identity.preset: %q is none of openwebui, librechat", cfg.Preset)
	}
	id := &Identity{cfg: cfg, preset: preset}
	if id.cfg.Tenant == "" {
		id.cfg.Tenant = identityTenant
	}
	if id.cfg.Mode == "" {
		id.cfg.Mode = On
	}
	if id.cfg.Stage == "" {
		id.cfg.Stage = Recall
	}
	id.headers = IdentityHeaders{
		Tenant:  identityHeader(cfg.Headers.Tenant, "", headerTenant),
		User:    identityHeader(cfg.Headers.User, preset.user, headerUser),
		Session: identityHeader(cfg.Headers.Session, preset.session, headerSession),
		Groups:  identityHeader(cfg.Headers.Groups, "", headerGroups),
	}
	if err := errors.Join(id.checkValues(), id.checkHeaders(), id.readBody(), id.readUserText()); err != nil {
		return nil, err
	}
	return id, nil
}

func identityHeader(names ...string) string {
	for _, name := range names {
		if name != "" {
			return strings.ToLower(name)
		}
	}
	return ""
}

func (id *Identity) checkValues() error {
	var errs []error
	for key, value := range map[string]string{"tenant": id.cfg.Tenant, "identity.default_user": id.cfg.DefaultUser} {
		if why := identityFault(value); why != "" {
			errs = append(errs, fmt.Errorf("%s: bad value (%s)", key, why))
		}
	}
	if _, ok := ParseMode(string(id.cfg.Mode)); !ok {
		errs = append(errs, fmt.Errorf("mode: %q is none of on, observe, read-only, write-only, off", id.cfg.Mode))
	}
	if _, ok := ParseStage(string(id.cfg.Stage)); !ok {
		errs = append(errs, fmt.Errorf("stage: %q is none of route, summary, write, recall", id.cfg.Stage))
	}
	if id.cfg.Zone != "" {
		if _, err := time.LoadLocation(id.cfg.Zone); err != nil {
			errs = append(errs, fmt.Errorf("timezone: %q is no IANA zone", id.cfg.Zone))
		}
	}
	return errors.Join(errs...)
}

// identityUnfit are headers that many clients send for other reasons: taking
// one of them for a person would make one person of many.
var identityUnfit = []string{"authorization", "content-length", "content-type", "cookie", "host", "transfer-encoding", "connection", "user-agent"}

func (id *Identity) checkHeaders() error {
	h := id.headers
	var errs []error
	seen := map[string]string{}
	for _, f := range [...]struct{ key, name string }{{"tenant", h.Tenant}, {"user", h.User}, {"session", h.Session}, {"groups", h.Groups}} {
		switch {
		case !headerToken(f.name) || slices.Contains(identityUnfit, f.name):
			errs = append(errs, fmt.Errorf("identity.headers.%s: %q cannot name it", f.key, f.name))
		case seen[f.name] != "":
			errs = append(errs, fmt.Errorf("identity.headers.%s: %q names the %s already", f.key, f.name, seen[f.name]))
		}
		seen[f.name] = f.key
	}
	id.names = []string{h.Tenant, h.User, h.Session, h.Groups, headerIntent, headerMode, headerTimezone, headerTask}
	return errors.Join(errs...)
}

// headerToken tells whether name may be a header's name (RFC 9110).
func headerToken(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return name != ""
}

// readBody decides which members of the body name the user. The body counts
// on loopback; on a trusted network only members that the operator listed.
func (id *Identity) readBody() error {
	if id.cfg.Loopback && !slices.Contains(id.cfg.Body, "safety_identifier") {
		id.fields = []string{"safety_identifier"}
	}
	for _, name := range id.cfg.Body {
		if !chat.KnownField(name) {
			return fmt.Errorf("identity.body: %q is no member that is read", name)
		}
		if id.cfg.Loopback || id.cfg.Trusted {
			id.fields = append(id.fields, name)
		}
	}
	return nil
}

func (id *Identity) readUserText() error {
	if id.cfg.UserText == "" {
		return nil
	}
	re, err := regexp.Compile(id.cfg.UserText)
	if err != nil {
		return fmt.Errorf("user_text.pattern: %w", err)
	}
	if re.NumSubexp() != 1 {
		return errors.New("user_text.pattern: needs exactly one group, which holds what the user wrote")
	}
	id.userText = re
	return nil
}

// HeaderNames are the lower-case names of the headers that Identify asks for.
func (id *Identity) HeaderNames() []string { return slices.Clone(id.names) }

// Identify says who asks and how. req may be nil where there is no body. A
// tenant that is named wrongly leaves Tenant empty, a user that is named
// wrongly leaves User empty; neither is ever replaced by what a later place
// says.
func (id *Identity) Identify(h Header, req *chat.Request) Caller {
	c := Caller{Tenant: id.cfg.Tenant, Timezone: id.cfg.Zone, Mode: id.cfg.Mode, Stage: id.cfg.Stage}
	trusted := id.cfg.Loopback || id.cfg.Trusted
	if trusted {
		if tenant, fault := singleHeader(h, id.headers.Tenant); fault != "" {
			c.Tenant, c.NoUser = "", noUser(fault)
			return id.wishes(h, c)
		} else if tenant != "" {
			c.Tenant = tenant
		}
		c.Groups = id.groups(h)
	}
	c.User, c.NoUser = id.user(h, req, trusted)
	c.Private = c.User != ""
	if session, fault := singleHeader(h, id.headers.Session); fault == "" && session != "" {
		c.Session, c.Named = session, true
		if id.preset.chats != nil {
			id.preset.chats(&c)
		}
	}
	return id.wishes(h, c)
}

// wishes reads the headers that say nothing of who asks.
func (id *Identity) wishes(h Header, c Caller) Caller {
	if v, _ := h(headerIntent); v != "" {
		switch v = strings.ToLower(strings.TrimSpace(v)); v {
		case "chat", "rag", "data":
			c.Forced = v
		}
	}
	c.Mode = ModeOf(h, c.Mode)
	if v, copies := h(headerTimezone); copies == 1 && zoneName(v) {
		c.Timezone = v
	}
	c.Task = TaskOf(h)
	return c
}

// user goes through the places in their order. The first that says anything
// decides, well or badly.
func (id *Identity) user(h Header, req *chat.Request, trusted bool) (user, why string) {
	if trusted {
		if user, fault := singleHeader(h, id.headers.User); fault != "" {
			return "", noUser(fault)
		} else if user != "" {
			return user, ""
		}
	}
	if req != nil {
		for _, name := range id.fields {
			user := req.Field(name)
			if strings.TrimSpace(user) == "" {
				continue
			}
			if fault := identityFault(user); fault != "" {
				return "", noUser(fault)
			}
			return user, ""
		}
	}
	if id.cfg.DefaultUser != "" {
		return id.cfg.DefaultUser, ""
	}
	return "", identityFix
}

func noUser(fault string) string { return identityFix + "; cause=" + fault }

// groups reads the caller's groups; a list that cannot be trusted gives none,
// which shows the least.
func (id *Identity) groups(h Header) []string {
	list, copies := h(id.headers.Groups)
	if copies != 1 || list == "" || len(list) > identityList {
		return nil
	}
	var groups []string
	for name := range strings.SplitSeq(list, ",") {
		if id.preset.groups != nil {
			name = id.preset.groups(name)
		}
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if identityFault(name) != "" {
			return nil
		}
		groups = append(groups, name)
	}
	slices.Sort(groups)
	if groups = slices.Compact(groups); len(groups) > identityGroups {
		return nil
	}
	return groups
}

// TaskOf is what a front end says its call is for, "" for a user's turn. A
// placeholder that nobody filled in says nothing.
func TaskOf(h Header) string {
	v, _ := h(headerTask)
	if v = strings.TrimSpace(v); isPlaceholder(v) {
		return ""
	}
	return cutText(v, 64)
}

// ModeOf is the mode that a request asks for, else the standard one.
func ModeOf(h Header, standard Mode) Mode {
	if v, copies := h(headerMode); copies == 1 {
		if m, ok := ParseMode(strings.ToLower(strings.TrimSpace(v))); ok {
			return m
		}
	}
	return standard
}

func isPlaceholder(v string) bool { return strings.HasPrefix(v, "{{") || strings.HasPrefix(v, "${") }

// singleHeader reads a header that names one thing. Proxies join two copies
// with a comma, so a comma is two copies. Outer white space is the
// transport's to cut; what it leaves belongs to the value.
func singleHeader(h Header, name string) (value, fault string) {
	value, copies := h(name)
	switch {
	case copies == 0:
		return "", ""
	case copies > 1:
		return "", "copies"
	case strings.TrimSpace(value) == "":
		return "", ""
	case strings.IndexByte(value, ',') >= 0:
		return "", "list"
	case isPlaceholder(value):
		return "", "placeholder" // nobody filled it in: it would be everybody
	}
	if fault = identityFault(value); fault != "" {
		return "", fault
	}
	return value, ""
}

// identityFault says what is wrong with a value that names somebody.
func identityFault(value string) string {
	switch {
	case len(value) > identityMax:
		return "length"
	case !utf8.ValidString(value):
		return "encoding"
	case strings.IndexFunc(value, unicode.IsControl) >= 0:
		return "control"
	}
	return ""
}

// zoneName tells whether name looks like an IANA zone. That it is one is
// found out where it is used: looking it up reads files.
func zoneName(name string) bool {
	if name == "" || len(name) > 64 || name[0] == '/' || strings.Contains(name, "..") {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("/_+-", c) >= 0) {
			return false
		}
	}
	return true
}
