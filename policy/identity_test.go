package policy_test

import (
	"reflect"
	"strings"
	"testing"

	"strata/chat"
	"strata/policy"
)

// sent is what a request carries; a value with a line feed in it is sent once
// for each line.
type sent map[string]string

func (s sent) header(name string) (string, int) {
	v, ok := s[name]
	if !ok {
		return "", 0
	}
	copies := strings.Split(v, "\n")
	return copies[0], len(copies)
}

func parsed(t testing.TB, body string) *chat.Request {
	t.Helper()
	req, err := chat.Parse([]byte(body))
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return req
}

func identity(t testing.TB, cfg policy.IdentityConfig) *policy.Identity {
	t.Helper()
	id, err := policy.NewIdentity(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

const hello = `{"messages":[{"role":"user","content":"hello"}]}`

func bodyWith(members string) string {
	return `{` + members + `,"messages":[{"role":"user","content":"hello"}]}`
}

func TestIdentifyUser(t *testing.T) {
	loop := policy.IdentityConfig{Loopback: true}
	tests := []struct {
		name    string
		cfg     policy.IdentityConfig
		sent    sent
		body    string
		user    string
		why     string
		private bool
	}{
		{"C068b header", loop, sent{"x-strata-user": "U1"}, hello, "U1", "", true},
		{"C068a nobody", loop, sent{}, hello, "", "fix=identity", false},
		{"C068c body user is not listed", loop, sent{}, bodyWith(`"user":"U1"`), "", "fix=identity", false},
		{"C068c body user is listed", policy.IdentityConfig{Loopback: true, Body: []string{"user"}}, sent{}, bodyWith(`"user":"U1"`), "U1", "", true},
		{"safety identifier", loop, sent{}, bodyWith(`"safety_identifier":"U1"`), "U1", "", true},
		{"nested member", policy.IdentityConfig{Loopback: true, Body: []string{"metadata.user_id"}}, sent{}, bodyWith(`"metadata":{"user_id":"欧阳"}`), "欧阳", "", true},
		{"safety identifier comes before listed ones", policy.IdentityConfig{Loopback: true, Body: []string{"user"}}, sent{}, bodyWith(`"user":"U2","safety_identifier":"U1"`), "U1", "", true},
		{"C069 header before body", policy.IdentityConfig{Loopback: true, Body: []string{"user"}}, sent{"x-strata-user": "U2"}, bodyWith(`"user":"U1"`), "U2", "", true},
		{"C069 two copies", policy.IdentityConfig{Loopback: true, DefaultUser: "me"}, sent{"x-strata-user": "U2\nU1"}, bodyWith(`"safety_identifier":"U1"`), "", "fix=identity; cause=copies", false},
		{"C069 two names in one", loop, sent{"x-strata-user": "U1,U2"}, hello, "", "fix=identity; cause=list", false},
		{"C069 NUL", loop, sent{"x-strata-user": "U1\x00"}, bodyWith(`"safety_identifier":"U1"`), "", "fix=identity; cause=control", false},
		{"C069 5,000 characters", loop, sent{"x-strata-user": strings.Repeat("u", 5000)}, hello, "", "fix=identity; cause=length", false},
		{"256 bytes", loop, sent{"x-strata-user": strings.Repeat("u", 256)}, hello, strings.Repeat("u", 256), "", true},
		{"broken UTF-8", loop, sent{"x-strata-user": "U\xff1"}, hello, "", "fix=identity; cause=encoding", false},
		{"nobody filled the placeholder in", loop, sent{"x-strata-user": "{{LIBRECHAT_USER_ID}}"}, hello, "", "fix=identity; cause=placeholder", false},
		{"control character in the body", loop, sent{}, bodyWith(`"safety_identifier":"U1\u0000"`), "", "fix=identity; cause=control", false},
		{"empty header is absent", loop, sent{"x-strata-user": ""}, bodyWith(`"safety_identifier":"U1"`), "U1", "", true},
		{"empty member is absent", policy.IdentityConfig{Loopback: true, DefaultUser: "me"}, sent{}, bodyWith(`"safety_identifier":""`), "me", "", true},
		{"C066 a trailing space is another user", loop, sent{}, bodyWith(`"safety_identifier":"U1 "`), "U1 ", "", true},
		{"a number is nobody", loop, sent{}, bodyWith(`"safety_identifier":7`), "", "fix=identity", false},
		{"header from anywhere", policy.IdentityConfig{}, sent{"x-strata-user": "U1"}, hello, "", "fix=identity", false},
		{"body from anywhere", policy.IdentityConfig{Body: []string{"user"}}, sent{}, bodyWith(`"user":"U1","safety_identifier":"U1"`), "", "fix=identity", false},
		{"trusted network", policy.IdentityConfig{Trusted: true}, sent{"x-strata-user": "U1"}, hello, "U1", "", true},
		{"trusted network, body not listed", policy.IdentityConfig{Trusted: true}, sent{}, bodyWith(`"safety_identifier":"U1"`), "", "fix=identity", false},
		{"trusted network, body listed", policy.IdentityConfig{Trusted: true, Body: []string{"safety_identifier"}}, sent{}, bodyWith(`"safety_identifier":"U1"`), "U1", "", true},
		{"mapped name alone", policy.IdentityConfig{Loopback: true, Headers: policy.IdentityHeaders{User: "X-Auth-User"}}, sent{"x-strata-user": "U1"}, hello, "", "fix=identity", false},
		{"mapped name", policy.IdentityConfig{Loopback: true, Headers: policy.IdentityHeaders{User: "X-Auth-User"}}, sent{"x-auth-user": "U1"}, hello, "U1", "", true},
		{"default user", policy.IdentityConfig{DefaultUser: "me"}, sent{}, hello, "me", "", true},
		{"default tenant's user with a bad tenant", policy.IdentityConfig{Loopback: true, DefaultUser: "me"}, sent{"x-strata-tenant": "T1\nT2"}, hello, "", "fix=identity; cause=copies", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := identity(t, tt.cfg).Identify(tt.sent.header, parsed(t, tt.body))
			if c.User != tt.user || c.NoUser != tt.why || c.Private != tt.private {
				t.Errorf("user %q, why %q, private %v; want %q, %q, %v", c.User, c.NoUser, c.Private, tt.user, tt.why, tt.private)
			}
		})
	}
}

func TestIdentifyTheRest(t *testing.T) {
	base := policy.Caller{Tenant: "default", User: "U1", Mode: policy.On, Stage: policy.Recall, Private: true}
	with := func(change func(*policy.Caller)) policy.Caller {
		c := base
		change(&c)
		return c
	}
	session := func(name string) func(*policy.Caller) {
		return func(c *policy.Caller) { c.Session, c.Named = name, true }
	}
	tests := []struct {
		name string
		sent sent
		want policy.Caller
	}{
		{"nothing", sent{}, base},
		{"tenant", sent{"x-strata-tenant": "T2"}, with(func(c *policy.Caller) { c.Tenant = "T2" })},
		{"empty tenant", sent{"x-strata-tenant": " "}, base},
		{"session", sent{"x-strata-session": "S1"}, with(session("S1"))},
		{"two sessions", sent{"x-strata-session": "S1\nS2"}, base},
		{"groups", sent{"x-strata-groups": "hr, sales,, hr ,财务"}, with(func(c *policy.Caller) { c.Groups = []string{"hr", "sales", "财务"} })},
		{"groups twice", sent{"x-strata-groups": "hr\nsales"}, base},
		{"groups with a bad one", sent{"x-strata-groups": "hr,a\x01"}, base},
		{"intent", sent{"x-strata-intent": "RAG"}, with(func(c *policy.Caller) { c.Forced = "rag" })},
		{"unknown intent", sent{"x-strata-intent": "poem"}, base},
		{"mode", sent{"x-strata-mode": "read-only"}, with(func(c *policy.Caller) { c.Mode = policy.ReadOnly })},
		{"unknown mode", sent{"x-strata-mode": "loud"}, base},
		{"zone", sent{"x-strata-timezone": "Asia/Shanghai"}, with(func(c *policy.Caller) { c.Timezone = "Asia/Shanghai" })},
		{"zone that is a path", sent{"x-strata-timezone": "../../etc/passwd"}, base},
		{"task", sent{"x-strata-task": "title_generation"}, with(func(c *policy.Caller) { c.Task = "title_generation" })},
		{"empty task", sent{"x-strata-task": ""}, base},
	}
	id := identity(t, policy.IdentityConfig{Loopback: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.sent["x-strata-user"] = "U1"
			if got := id.Identify(tt.sent.header, nil); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestPresets(t *testing.T) {
	owui := func(chat string) sent {
		return sent{"x-openwebui-user-id": "u-1", "x-openwebui-user-email": "a@example.org", "x-openwebui-chat-id": chat,
			"x-strata-user": "U1", "x-strata-session": "S1"}
	}
	tests := []struct {
		name, preset           string
		sent                   sent
		user, session          string
		named, private, silent bool
	}{
		{"chat", "openwebui", owui("8f0e"), "u-1", "8f0e", true, true, false},
		{"temporary", "openwebui", owui("temporary:x"), "u-1", "temporary:x", true, true, true},
		{"temporary, older", "openwebui", owui("local:x"), "u-1", "local:x", true, true, true},
		{"channel", "openwebui", owui("channel:x"), "u-1", "channel:x", true, false, true},
		{"signed user alone", "openwebui", sent{"x-openwebui-user-jwt": "a.b.c", "x-strata-user": "U1"}, "", "", false, false, false},
		{"LibreChat", "librechat", sent{"x-strata-user": "u-1", "x-strata-session": "c-1"}, "u-1", "c-1", true, true, false},
		{"LibreChat, before the first answer", "librechat", sent{"x-strata-user": "u-1", "x-strata-session": "new"}, "u-1", "", false, true, false},
		{"LibreChat, no value", "librechat", sent{"x-strata-user": "u-1", "x-strata-session": "{{LIBRECHAT_BODY_CONVERSATIONID}}"}, "u-1", "", false, true, false},
		{"ids mean nothing without the preset", "", sent{"x-strata-user": "U1", "x-strata-session": "local:x"}, "U1", "local:x", true, true, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := identity(t, policy.IdentityConfig{Preset: tt.preset, Trusted: true}).Identify(tt.sent.header, nil)
			if c.User != tt.user || c.Session != tt.session || c.Named != tt.named || c.Private != tt.private || c.NoLearn != tt.silent {
				t.Errorf("%+v", c)
			}
		})
	}
	id := identity(t, policy.IdentityConfig{Preset: "openwebui", Trusted: true})
	c := id.Identify(sent{"x-openwebui-user-id": "u-1", "x-strata-groups": "R%26D,%E8%B4%A2%E5%8A%A1"}.header, nil)
	if want := []string{"R&D", "财务"}; !reflect.DeepEqual(c.Groups, want) {
		t.Errorf("groups %q, want %q", c.Groups, want)
	}
}

func TestHeaderNames(t *testing.T) {
	id := identity(t, policy.IdentityConfig{Preset: "openwebui", Loopback: true, Headers: policy.IdentityHeaders{Session: "X-Chat"}})
	asked := map[string]bool{}
	id.Identify(func(name string) (string, int) { asked[name] = true; return "", 0 }, nil)
	for _, name := range id.HeaderNames() {
		if !asked[name] {
			t.Errorf("%s is named and not asked for", name)
		}
		delete(asked, name)
	}
	if len(asked) > 0 {
		t.Errorf("asked for and not named: %v", asked)
	}
}

func TestNewIdentityErrors(t *testing.T) {
	tests := map[string]policy.IdentityConfig{
		"identity.preset":          {Preset: "slack"},
		"identity.body":            {Body: []string{"nickname"}},
		"identity.headers.user":    {Headers: policy.IdentityHeaders{User: "X User"}},
		"identity.headers.session": {Headers: policy.IdentityHeaders{Session: "Cookie"}},
		"identity.headers.groups":  {Headers: policy.IdentityHeaders{Groups: "X-Strata-User"}},
		"identity.default_user":    {DefaultUser: "a\nb"},
		"user_text.pattern":        {UserText: "no group"},
		"user_text.pattern:":       {UserText: "("},
		"tenant":                   {Tenant: strings.Repeat("t", 257)},
		"mode":                     {Mode: "loud"},
		"stage":                    {Stage: "last"},
		"timezone":                 {Zone: "Mars/Olympus"},
	}
	for key, cfg := range tests {
		if _, err := policy.NewIdentity(cfg); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
