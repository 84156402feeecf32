package policy

import "strings"

// Redact replaces what must not be kept by [redacted:kind] and tells how much
// that was: keys, tokens, passwords, private keys and credentials in URLs, and
// of personal data Chinese id numbers, phone numbers, bank cards and e-mail
// addresses. The sentence around stays. Redacting twice changes nothing more.
//
// One pass looks at every byte once; a rule runs only where a byte or a word
// that it needs was seen, so that clean text costs little.
func Redact(text string) (clean string, found int) {
	clean, credentials, personal := redact(text)
	return clean, credentials + personal
}

// cut is a piece of text to be left out.
type cut struct {
	start, end int
	kind       string
}

// The kinds that are personal data; all other kinds are credentials.
const (
	kindID    = "id_number"
	kindPhone = "phone"
	kindCard  = "card"
	kindEmail = "email"
)

const redactedMark = "[redacted:"

func redact(text string) (clean string, credentials, personal int) {
	var b strings.Builder
	last := 0
	for i := 0; i < len(text); {
		class := redactClass[text[i]]
		if class == classNone || class == classLetter && i > 0 && wordByte(text[i-1]) {
			i++
			continue
		}
		sp, next := redactAt(text, i, last, class)
		if sp.end <= sp.start {
			i = next
			continue
		}
		b.WriteString(text[last:sp.start])
		b.WriteString(redactedMark)
		b.WriteString(sp.kind)
		b.WriteByte(']')
		switch sp.kind {
		case kindID, kindPhone, kindCard, kindEmail:
			personal++
		default:
			credentials++
		}
		last, i = sp.end, sp.end
	}
	if last == 0 {
		return text, 0, 0
	}
	b.WriteString(text[last:])
	return b.String(), credentials, personal
}

// What a byte may be the start of, or the tell of.
const (
	classNone = iota
	classDigit
	classPlus   // +86 …
	classAt     // e-mail
	classColon  // scheme://user:password@host
	classDash   // -----BEGIN
	classLetter // a key's shape or a word such as password
	classHan    // 密码, 口令, 验证码, 身份证, …
	classMark   // [redacted:…] stays as it is
	classParen  // (555) 123-4567
)

var redactClass = [256]byte{
	'0': classDigit, '1': classDigit, '2': classDigit, '3': classDigit, '4': classDigit,
	'5': classDigit, '6': classDigit, '7': classDigit, '8': classDigit, '9': classDigit,
	'+': classPlus, '@': classAt, ':': classColon, '-': classDash, '[': classMark, '(': classParen,
	'a': classLetter, 'A': classLetter, 'b': classLetter, 'B': classLetter, 'c': classLetter, 'C': classLetter,
	'e': classLetter, 'g': classLetter, 'h': classLetter, 'k': classLetter, 'K': classLetter, 'L': classLetter,
	'n': classLetter, 'p': classLetter, 'P': classLetter, 'r': classLetter, 's': classLetter, 'S': classLetter,
	't': classLetter, 'T': classLetter, 'x': classLetter, 'y': classLetter,
	0xE4: classHan, 0xE5: classHan, 0xE6: classHan, 0xE7: classHan, 0xE8: classHan, 0xE9: classHan,
}

// redactAt tries the rules of a class at i. Without a find it returns where to
// look next; nothing before last may be touched again.
func redactAt(s string, i, last int, class byte) (cut, int) {
	switch class {
	case classDigit:
		return digitsAt(s, i)
	case classParen:
		if end := northAmericanPhone(s, i); end > 0 {
			return cut{i, end, kindPhone}, 0
		}
	case classPlus:
		if end := internationalPhone(s, i); end > 0 {
			return cut{i, end, kindPhone}, 0
		}
	case classAt:
		return emailAt(s, i, last), i + 1
	case classColon:
		return urlCredentialsAt(s, i, last), i + 1
	case classDash:
		return privateKeyAt(s, i), i + 1
	case classMark:
		if strings.HasPrefix(s[i:], redactedMark) {
			if n := strings.IndexByte(s[i:], ']'); n > 0 && n < 40 {
				return cut{}, i + n + 1
			}
		}
	case classHan:
		return labelledHan(s, i), i + 3
	case classLetter:
		if sp := shapeAt(s, i); sp.end > 0 {
			return sp, 0
		}
		return labelledWord(s, i), i + 1
	}
	return cut{}, i + 1
}

// keyShapes are the prefixes of providers' keys: the characters after the
// prefix and how many there are at least.
var keyShapes = []struct {
	prefix string
	least  int
	upper  bool // capitals and digits only
}{
	{"sk-ant-", 10, false}, {"sk-proj-", 10, false}, {"sk-", 16, false},
	{"sk_live_", 10, false}, {"sk_test_", 10, false}, {"rk_live_", 10, false}, {"pk_live_", 10, false},
	{"ghp_", 16, false}, {"gho_", 16, false}, {"ghu_", 16, false}, {"ghs_", 16, false}, {"ghr_", 16, false},
	{"github_pat_", 16, false}, {"glpat-", 16, false}, {"hf_", 20, false}, {"npm_", 30, false},
	{"xoxb-", 10, false}, {"xoxp-", 10, false}, {"xoxa-", 10, false}, {"xoxs-", 10, false}, {"xoxr-", 10, false},
	{"AIza", 28, false}, {"AKIA", 12, true}, {"ASIA", 12, true}, {"AKID", 13, false}, {"LTAI", 12, false},
	{"SG.", 30, false}, {"ya29.", 20, false},
}

// heads are pairs of bytes with which something may begin; they hold some more.
type heads [256]uint64

func (h *heads) add(s string)                 { h[s[0]] |= 1 << (s[1] & 63) }
func (h *heads) hold(first, second byte) bool { return h[first]>>(second&63)&1 != 0 }

var shapeHeads = func() (h heads) {
	for i := range keyShapes {
		h.add(keyShapes[i].prefix)
	}
	return h
}()

// shapeAt finds a key by its shape: a provider's prefix, a JWT, a bearer token.
func shapeAt(s string, i int) cut {
	switch s[i] {
	case 'e':
		return jwtAt(s, i)
	case 'B', 'b':
		return bearerAt(s, i)
	case 's', 'r', 'p', 'g', 'h', 'n', 'x', 'A', 'L', 'S', 'y':
	default:
		return cut{}
	}
	if i+2 >= len(s) || !shapeHeads.hold(s[i], s[i+1]) {
		return cut{}
	}
	for k := range keyShapes {
		shape := &keyShapes[k]
		if shape.prefix[0] != s[i] || shape.prefix[1] != s[i+1] || !strings.HasPrefix(s[i:], shape.prefix) {
			continue
		}
		end := i + len(shape.prefix)
		body := end
		for end < len(s) && (tokenByte(s[end]) || s[end] == '.' && end+1 < len(s) && tokenByte(s[end+1])) {
			if shape.upper && (s[end] >= 'a' && s[end] <= 'z' || s[end] == '-' || s[end] == '_') {
				break
			}
			end++
		}
		if end-body >= shape.least && mixed(s[body:end]) {
			return cut{i, secretAfter(s, shape.prefix, end), "key"}
		}
	}
	return cut{}
}

// secretAfter extends the find over a cloud provider's secret that is written
// after its key id: "AKIA… / wJalr…".
func secretAfter(s, prefix string, end int) int {
	if prefix != "AKIA" && prefix != "ASIA" && prefix != "LTAI" && prefix != "AKID" {
		return end
	}
	i := end
	for i < len(s) && i-end < 8 && strings.IndexByte(" \t\r\n/|,;:", s[i]) >= 0 {
		i++
	}
	j := i
	for j < len(s) && (tokenByte(s[j]) || s[j] == '/' || s[j] == '+' || s[j] == '=') {
		j++
	}
	if i > end && j-i >= 28 && mixed(s[i:j]) {
		return j
	}
	return end
}

// mixed reports whether s has a digit or both cases: prose and code words
// behind a prefix have neither.
func mixed(s string) bool {
	var lower, upper, digit bool
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			lower = true
		case c >= 'A' && c <= 'Z':
			upper = true
		case c >= '0' && c <= '9':
			digit = true
		}
	}
	return digit || lower && upper
}

func jwtAt(s string, i int) cut {
	if !strings.HasPrefix(s[i:], "eyJ") {
		return cut{}
	}
	end := tokenRun(s, i)
	if end-i < 12 || end >= len(s) || s[end] != '.' {
		return cut{}
	}
	middle := tokenRun(s, end+1)
	if middle-end < 5 {
		return cut{}
	}
	end = middle
	for end < len(s) && s[end] == '.' && tokenRun(s, end+1) > end+1 {
		end = tokenRun(s, end+1)
	}
	return cut{i, end, "token"}
}

// bearerAt finds "Bearer x" and "Basic x" of an Authorization header.
func bearerAt(s string, i int) cut {
	if !hasFold(s[i:], "bearer ") && !hasFold(s[i:], "basic ") {
		return cut{}
	}
	from := i + strings.IndexByte(s[i:], ' ') + 1
	end := from
	for end < len(s) && (tokenByte(s[end]) || strings.IndexByte("./+=~", s[end]) >= 0) {
		end++
	}
	end = trimEnd(s, from, end)
	if end-from < 16 || !mixed(s[from:end]) {
		return cut{}
	}
	return cut{from, end, "token"}
}

// privateKeyAt finds a PEM private key, also one that is cut off.
func privateKeyAt(s string, i int) cut {
	const begin = "-----BEGIN "
	if !strings.HasPrefix(s[i:], begin) {
		return cut{}
	}
	head := s[i:min(i+80, len(s))]
	n := strings.Index(head, "PRIVATE KEY")
	if n < 0 {
		return cut{}
	}
	if k := strings.Index(s[i:], "-----END "); k > 0 {
		end := i + k + len("-----END ")
		if n := strings.Index(s[end:min(end+60, len(s))], "-----"); n >= 0 {
			return cut{i, end + n + 5, "private_key"}
		}
	}
	end := i + n
	for end < len(s) && (tokenByte(s[end]) || strings.IndexByte(" \r\n/+=,:\\", s[end]) >= 0) {
		end++
	}
	return cut{i, end, "private_key"}
}

// storeSchemes are those whose address with credentials goes as a whole.
var storeSchemes = []string{"postgres", "postgresql", "mysql", "mariadb", "mongodb", "mongodb+srv", "redis", "rediss", "amqp", "amqps", "mssql", "sqlserver", "clickhouse", "oracle"}

// urlCredentialsAt finds user:password in a URL whose colon is at i.
func urlCredentialsAt(s string, i, last int) cut {
	if !strings.HasPrefix(s[i:], "://") {
		return cut{}
	}
	from := i + 3
	at, end := -1, from
	for end < len(s) && s[end] > ' ' && s[end] < 0x7F && strings.IndexByte("\"'<>`", s[end]) < 0 {
		if s[end] == '@' && (at < 0 || strings.IndexByte(s[from:end], '/') < 0) {
			at = end
		}
		end++
	}
	if at < 0 || strings.IndexByte(s[from:at], '/') >= 0 || strings.HasPrefix(s[from:at], redactedMark) {
		return cut{}
	}
	if colon := strings.IndexByte(s[from:at], ':'); colon < 0 || colon == at-from-1 {
		return cut{}
	}
	scheme := i
	for scheme > last && (tokenByte(s[scheme-1]) || s[scheme-1] == '+') {
		scheme--
	}
	for _, known := range storeSchemes {
		if strings.EqualFold(s[scheme:i], known) {
			return cut{scheme, trimEnd(s, at, end), "credentials"}
		}
	}
	return cut{from, at, "credentials"}
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func digitByte(c byte) bool { return c >= '0' && c <= '9' }

func tokenByte(c byte) bool { return wordByte(c) || c == '_' || c == '-' }

// tokenRun returns where the run of token bytes at i ends.
func tokenRun(s string, i int) int {
	for i < len(s) && tokenByte(s[i]) {
		i++
	}
	return i
}

// trimEnd moves end back over punctuation that ends a sentence, not a value.
func trimEnd(s string, from, end int) int {
	for end > from && strings.IndexByte(".,;:!?)]}'\"", s[end-1]) >= 0 {
		end--
	}
	return end
}

// hasFold is HasPrefix for an ASCII prefix in lower case, whatever the case of s.
func hasFold(s, prefix string) bool {
	if len(s) < len(prefix) {
		return false
	}
	for i := 0; i < len(prefix); i++ {
		c := s[i]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}
