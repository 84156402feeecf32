package policy

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// secretLabel is a word that names a secret and how sure it is: after a strong one
// any value that is no common word goes, after a weak one only what looks like
// a key.
type secretLabel struct {
	word   string
	kind   string
	strong bool
}

// wordLabels are found at a word's start, in any case; - _ and space between
// their parts are alike. Longer ones come first.
var wordLabels = []secretLabel{
	{"client secret", "secret", true}, {"secret access key", "secret", true}, {"secret key", "secret", true}, {"access key", "secret", false}, {"account key", "secret", false}, {"accountkey", "secret", false},
	{"access token", "token", false}, {"auth token", "token", false}, {"refresh token", "token", false},
	{"api secret", "secret", true}, {"api key", "key", false}, {"apikey", "key", false}, {"api token", "token", false},
	{"private key", "secret", false}, {"password", "password", true}, {"passphrase", "password", true}, {"passwd", "password", true},
	{"passcode", "password", true}, {"pwd", "password", true}, {"secret", "secret", false}, {"token", "token", false}, {"pin code", "password", true}, {"pin", "password", false}, {"key", "key", false},
}

// hanLabels are the same in Chinese.
var hanLabels = []secretLabel{
	{"密码", "password", true}, {"口令", "password", true}, {"密钥", "key", true}, {"秘钥", "key", true}, {"暗号", "password", true},
	{"验证码", "code", true}, {"令牌", "token", false}, {"身份证", kindID, false}, {"护照", kindID, false}, {"手机", kindPhone, false}, {"电话", kindPhone, false},
	{"银行卡", kindCard, false}, {"卡号", kindCard, false},
}

var labelHeads = func() (h heads) {
	for i := range wordLabels {
		h.add(wordLabels[i].word)
	}
	return h
}()

// labelledWord finds the value behind a word such as password at i.
func labelledWord(s string, i int) cut {
	if i+2 >= len(s) || !labelHeads.hold(s[i]|0x20, s[i+1]|0x20) {
		return cut{}
	}
	for k := range wordLabels {
		l := &wordLabels[k]
		if l.word[0] != s[i]|0x20 || l.word[1] != s[i+1]|0x20 {
			continue
		}
		n := labelLen(s[i:], l.word)
		if n == 0 {
			continue
		}
		end := i + n
		if end < len(s) && (s[end] == '_' || s[end] == '-') && l.strong { // PASSWORD_PROD=…
			end = tokenRun(s, end)
		}
		if end < len(s) && tokenByte(s[end]) {
			return cut{}
		}
		sep, from := labelSeparator(s, end)
		if sep == 0 {
			return cut{}
		}
		return labelledValue(s, i, from, sep, l)
	}
	return cut{}
}

// labelLen returns how long label is in s, 0 when s does not begin with it.
func labelLen(s, label string) int {
	n := 0
	for k := 0; k < len(label); k++ {
		if n >= len(s) {
			return 0
		}
		c := s[n]
		if label[k] == ' ' {
			if c == ' ' || c == '_' || c == '-' {
				n++
			}
			continue
		}
		if c|0x20 != label[k] {
			return 0
		}
		n++
	}
	return n
}

// The ways in which a label leads to its value.
const (
	assigned = 1 // = or :
	said     = 2 // is, was, 是
)

// labelSeparator reads what stands between a label and its value.
func labelSeparator(s string, i int) (kind, from int) {
	for i < len(s) && (s[i] == ' ' || s[i] == '"' || s[i] == '\'' || s[i] == '\t' || s[i] == '`') {
		i++
	}
	rest := s[i:]
	for _, sign := range []string{":=", "=>", "=", ":", "：", "＝"} {
		if strings.HasPrefix(rest, sign) {
			return assigned, pastSpace(s, i+len(sign))
		}
	}
	for _, word := range []string{"is now ", "is ", "was ", "are ", "will be "} {
		if hasFold(rest, word) {
			return said, pastSpace(s, i+len(word))
		}
	}
	for _, word := range []string{"改成了", "改成", "换成", "设成", "设为", "就是", "是", "为"} {
		if strings.HasPrefix(rest, word) {
			return said, pastSpace(s, i+len(word))
		}
	}
	return 0, 0
}

func pastSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	if strings.HasPrefix(s[i:], "：") || strings.HasPrefix(s[i:], "是") {
		i += 3
	}
	return i
}

// labelledValue reads the value at from and judges whether it is a secret.
func labelledValue(s string, start, from, sep int, l *secretLabel) cut {
	quoted := false
	if from < len(s) {
		if q, n := utf8.DecodeRuneInString(s[from:]); strings.ContainsRune("\"'`“「『", q) {
			quoted, from = true, from+n
		}
	}
	end := from
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if r <= ' ' || r >= 0x2E80 || strings.ContainsRune("\"'`“”’,;<>()[]{}\\|", r) {
			break
		}
		end += n
	}
	calls := end < len(s) && (s[end] == '(' || s[end] == '[' || s[end] == '<')
	if sep == said || !quoted {
		end = trimEnd(s, from, end)
	}
	v := s[from:end]
	if calls || !secretValue(v, l, sep, quoted, owned(s, start)) {
		return cut{}
	}
	return cut{from, end, l.kind}
}

// owned reports whether a possessive stands before the label: "my password is
// sesame" names one, "the password is required" does not.
func owned(s string, start int) bool {
	before := strings.ToLower(s[max(0, start-24):start])
	for _, w := range []string{"my ", "our ", "his ", "her ", "their ", "我的", "我们的"} {
		if strings.Contains(before, w) {
			return true
		}
	}
	return false
}

func secretValue(v string, l *secretLabel, sep int, quoted, owned bool) bool {
	if len(v) < 3 || strings.HasPrefix(v, "$") || strings.HasPrefix(v, "%") || strings.HasPrefix(v, redactedMark[1:]) || strings.HasPrefix(v, "*") {
		return false
	}
	digits, letters, signs := 0, 0, 0
	for _, r := range v {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsLetter(r):
			letters++
		case r != '_' && r != '-' && r != '.' && r != '/':
			signs++
		}
	}
	if reference(v) && digits == 0 {
		return false
	}
	if !l.strong {
		if l.word == "pin" {
			return digits == len(v) && len(v) >= 4 && len(v) <= 8
		}
		return len(v) >= 8 && digits > 0 && letters > 0 && !reference(v) && mixed(v) && (digits >= 2 || len(v) >= 16)
	}
	switch {
	case digits > 0 && letters > 0, digits >= 4, signs > 0 && letters > 0 && len(v) >= 6:
		return !reference(v)
	case sep == assigned && quoted:
		return !commonValue[strings.ToLower(v)]
	}
	return (owned || sep == assigned && len(v) >= 6) && letters > 0 && !commonValue[strings.ToLower(v)]
}

// reference reports whether v is code that names a value, not the value.
func reference(v string) bool {
	low := strings.ToLower(v)
	for _, p := range []string{"os.", "process.", "env.", "config", "cfg.", "settings", "self.", "this.", "req.", "request.", "args.", "user.", "get", "http", "xxx", "..."} {
		if strings.HasPrefix(low, p) {
			return true
		}
	}
	return strings.Contains(low, "password") || strings.Contains(low, "token") || strings.Contains(low, "secret") || strings.Contains(low, "key") && !strings.ContainsAny(low, "0123456789")
}

// commonValue are words that follow a label without being the secret.
var commonValue = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(`a an the too not very so really required optional wrong expired invalid weak strong forgotten lost
		incorrect broken same still now being set unset stored hashed encrypted correct reset changed safe secure missing empty null none
		nil true false string str int text varchar char bytes here there in on at for to from with by my your our what where why how when
		saved hidden visible shown needed used valid unknown undefined default blank short long case sensitive public private exposed leaked
		rejected accepted failing working about ready both only also just supposed going yes no bytea object number boolean any optional[str] field`) {
		m[w] = true
	}
	return m
}()

// labelledHan finds the value behind a Chinese label at i.
func labelledHan(s string, i int) cut {
	if i+3 > len(s) {
		return cut{}
	}
	switch s[i : i+3] {
	case "密", "口", "秘", "暗", "验", "令", "身", "护", "手", "电", "银", "卡":
	default:
		return cut{}
	}
	for k := range hanLabels {
		l := &hanLabels[k]
		if !strings.HasPrefix(s[i:], l.word) {
			continue
		}
		end := i + len(l.word)
		for _, more := range []string{"号码", "号", "码", "（", "）"} {
			if strings.HasPrefix(s[end:], more) {
				end += len(more)
			}
		}
		sep, from := labelSeparator(s, end)
		if sep == 0 {
			from = pastSpace(s, end)
			if from == end || from >= len(s) || s[from] >= 0x80 {
				return cut{}
			}
			sep = assigned
		}
		if personal := l.kind == kindID || l.kind == kindPhone || l.kind == kindCard; personal {
			return personalValue(s, from, l)
		}
		if from < len(s) && s[from] >= 0x80 {
			return hanValue(s, i, from, l)
		}
		return labelledValue(s, i, from, sep, l)
	}
	return cut{}
}

// personalValue takes what is written like a number after its label, whether
// or not its check digit is right.
func personalValue(s string, from int, l *secretLabel) cut {
	end, digits := from, 0
	for end < len(s) && (wordByte(s[end]) || (s[end] == ' ' || s[end] == '-') && digits > 0 && end+1 < len(s) && digitByte(s[end+1])) {
		if digitByte(s[end]) {
			digits++
		}
		end++
	}
	if digits < 7 {
		return cut{}
	}
	return cut{from, end, l.kind}
}

// hanValue takes a password in Chinese: "我的口令是芝麻开门".
func hanValue(s string, start, from int, l *secretLabel) cut {
	if !l.strong || !owned(s, start) && l.word != "口令" && l.word != "暗号" {
		return cut{}
	}
	end, n := from, 0
	for end < len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		if !unicode.Is(unicode.Han, r) {
			break
		}
		end += size
		n++
	}
	v := s[from:end]
	if n < 3 || n > 8 || strings.ContainsAny(v, "什么吗呢多少啥错对否空必需由指用在忘的了不没怎哪谁") {
		return cut{}
	}
	return cut{from, end, l.kind}
}
