package policy

import "strings"

// digitsAt looks at a run of digits: an id number, a bank card, a phone
// number. It returns the end of the run as the next place to look.
func digitsAt(s string, i int) (cut, int) {
	end := i
	for end < len(s) && digitByte(s[end]) {
		end++
	}
	if i > 0 && (wordByte(s[i-1]) || s[i-1] == '_' || s[i-1] == '.' || s[i-1] == '#') {
		return cut{}, max(end, i+1)
	}
	n := end - i
	switch {
	case n == 17 && end < len(s) && (s[end] == 'X' || s[end] == 'x') && numberEnds(s, end+1) && idNumber(s[i:end+1]):
		return cut{i, end + 1, kindID}, 0
	case n == 18 && numberEnds(s, end) && idNumber(s[i:end]):
		return cut{i, end, kindID}, 0
	}
	digits, stop := grouped(s, i)
	if card(digits) && numberEnds(s, stop) {
		return cut{i, stop, kindCard}, 0
	}
	if chinesePhone(s, i, digits) && numberEnds(s, stop) {
		return cut{i, stop, kindPhone}, 0
	}
	if stop := northAmericanPhone(s, i); stop > 0 {
		return cut{i, stop, kindPhone}, 0
	}
	return cut{}, end
}

// numberEnds reports whether a number may end at i.
func numberEnds(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	if wordByte(s[i]) || s[i] == '_' || s[i] == '%' {
		return false
	}
	return !(s[i] == '.' || s[i] == '-') || i+1 >= len(s) || !wordByte(s[i+1])
}

// grouped reads digits that single spaces or dashes may group, at most 19.
func grouped(s string, i int) (digits string, end int) {
	var b [19]byte
	n := 0
	for ; i < len(s) && n < len(b); i++ {
		switch c := s[i]; {
		case digitByte(c):
			b[n] = c
			n++
			end = i + 1
		case (c == ' ' || c == '-') && i+1 < len(s) && digitByte(s[i+1]) && n >= 3:
		default:
			return string(b[:n]), end
		}
	}
	return string(b[:n]), end
}

// idNumber checks a Chinese resident's id number: a date of birth and the
// check digit of ISO 7064 mod 11-2.
func idNumber(s string) bool {
	year, month, day := s[6:10], s[10:12], s[12:14]
	if s[0] == '0' || year < "1900" || year > "2099" || month < "01" || month > "12" || day < "01" || day > "31" {
		return false
	}
	sum := 0
	for i := range 17 {
		sum = (sum + int(s[i]-'0')) * 2 % 11
	}
	want := (12 - sum) % 11
	if want == 10 {
		return s[17] == 'X' || s[17] == 'x'
	}
	return int(s[17])-'0' == want
}

// card checks a bank card: an issuer's length and first digits, and Luhn.
func card(d string) bool {
	n := len(d)
	switch {
	case n == 16 && (d[0] == '4' || d[0] == '5' && d[1] >= '1' && d[1] <= '5' || d[:2] >= "22" && d[:2] <= "27" || d[:4] == "6011" || d[:2] == "65" || d[:2] == "35"):
	case n >= 16 && n <= 19 && d[:2] == "62":
	case n == 15 && (d[:2] == "34" || d[:2] == "37"):
	default:
		return false
	}
	sum := 0
	for i := range n {
		v := int(d[n-1-i] - '0')
		if i%2 == 1 {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum += v
	}
	return sum%10 == 0
}

// chinesePhone checks a mobile number (also behind 86) and a landline with its
// area code and a dash.
func chinesePhone(s string, i int, d string) bool {
	if len(d) == 13 && d[:2] == "86" {
		d = d[2:]
	}
	if len(d) == 11 && d[0] == '1' && d[1] >= '3' {
		return true
	}
	dash := strings.IndexByte(s[i:min(i+5, len(s))], '-')
	return d != "" && d[0] == '0' && (dash == 3 || dash == 4) && len(d)-dash >= 7 && len(d)-dash <= 8 && d[1] != '0'
}

// internationalPhone returns the end of a number in E.164 form, grouped or not.
func internationalPhone(s string, i int) int {
	if i > 0 && (wordByte(s[i-1]) || s[i-1] == '+' || s[i-1] == '=') || i+1 >= len(s) || s[i+1] < '1' || s[i+1] > '9' {
		return 0
	}
	n, end := 0, 0
	for j := i + 1; j < len(s) && n <= 15; j++ {
		switch c := s[j]; {
		case digitByte(c):
			n++
			end = j + 1
		case strings.IndexByte(" -().", c) >= 0 && j-end < 2:
		default:
			j = len(s)
		}
	}
	if n < 10 || n > 15 || !numberEnds(s, end) {
		return 0
	}
	return end
}

// northAmericanPhone returns the end of 555-123-4567 or (555) 123-4567.
func northAmericanPhone(s string, i int) int {
	shape := "ddd-ddd-dddd"
	if s[i] == '(' {
		shape = "(ddd) ddd-dddd"
	}
	if len(s)-i < len(shape) {
		return 0
	}
	for k := range len(shape) {
		if shape[k] == 'd' && !digitByte(s[i+k]) || shape[k] != 'd' && s[i+k] != shape[k] {
			return 0
		}
	}
	if end := i + len(shape); numberEnds(s, end) {
		return end
	}
	return 0
}

// emailAt finds the address around the sign at i.
func emailAt(s string, i, last int) cut {
	start := i
	for start > last && i-start < 64 && (tokenByte(s[start-1]) || s[start-1] == '.' || s[start-1] == '+' || s[start-1] == '%') {
		start--
	}
	for start < i && (s[start] == '.' || s[start] == '-') {
		start++
	}
	end, dot := i+1, -1
	for end < len(s) && (wordByte(s[end]) || s[end] == '-' || s[end] == '.') {
		if s[end] == '.' {
			dot = end
		}
		end++
	}
	for end > i+1 && (s[end-1] == '.' || s[end-1] == '-') {
		if end--; dot == end {
			dot = strings.LastIndexByte(s[:end], '.')
		}
	}
	if start == i || dot <= i+1 || end-dot < 3 || s[start:i] == "git" && end < len(s) && s[end] == ':' {
		return cut{}
	}
	for _, c := range []byte(s[dot+1 : end]) {
		if digitByte(c) || c == '-' {
			return cut{}
		}
	}
	return cut{start, end, kindEmail}
}
