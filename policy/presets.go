package policy

import (
	"net/url"
	"strings"
)

// frontEnd is what is known of one chat front end.
type frontEnd struct {
	user, session string // headers, lower case; "" = X-Strata-*
	// chats reads what the id of a chat tells besides naming it.
	chats func(*Caller)
	// groups decodes one group's name; it may return a text that is unfit.
	groups func(string) string
}

// frontEnds are the values of identity.preset.
//
// Open WebUI sends X-OpenWebUI-User-Id, -User-Name, -User-Email, -User-Role
// and -Chat-Id with ENABLE_FORWARD_USER_INFO_HEADERS=true, -Message-Id to few
// backends only, and none for tasks or groups. Names and addresses change,
// the id does not, so the id is the user. Where
// FORWARD_USER_INFO_HEADER_JWT_SECRET is set the four user headers are not
// sent at all: nobody is known then. A connection's own headers can add what
// is missing: {"X-Strata-Task": "{{TASK}}", "X-Strata-Groups":
// "{{USER_GROUPS}}"}; group names come percent-encoded.
//
// LibreChat sends no such header by itself. Its custom endpoints take
// headers: in librechat.yaml, with the names that are Strata's own:
//
//	X-Strata-User: "{{LIBRECHAT_USER_ID}}"
//	X-Strata-Session: "{{LIBRECHAT_BODY_CONVERSATIONID}}"
var frontEnds = map[string]frontEnd{
	"": {},
	"openwebui": {
		user:    "x-openwebui-user-id",
		session: "x-openwebui-chat-id",
		chats:   openWebUIChat,
		groups:  percentDecoded,
	},
	"librechat": {chats: libreChatChat},
}

// openWebUIChat: temporary chats (local: is their older name) are not kept by
// the front end, so not by us. A channel is a room of several people: what is
// private to one stays out of it, and what is said there is not one person's.
func openWebUIChat(c *Caller) {
	switch {
	case strings.HasPrefix(c.Session, "local:"), strings.HasPrefix(c.Session, "temporary:"):
		c.NoLearn = true
	case strings.HasPrefix(c.Session, "channel:"):
		c.NoLearn, c.Private = true, false
	}
}

// libreChatChat: a conversation may have no id before its first answer.
func libreChatChat(c *Caller) {
	if c.Session == "new" || c.Session == "PENDING" {
		c.Session, c.Named = "", false
	}
}

func percentDecoded(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
