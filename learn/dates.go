package learn

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"strata/internal/prefilter"
)

// dated is a text whose relative dates were made absolute.
type dated struct {
	text   string
	last   time.Time // end of the last day it names, zero if it names none
	future bool      // it names a day or an hour that is to come
}

// datePattern is one way to name a day, and which day that is.
type datePattern struct {
	match *prefilter.Pattern
	day   func(m []string, now time.Time) (from time.Time, span int, ok bool) // span: 1 = that day, else spanWeek, …
}

var hanDigits = map[string]int{"零": 0, "一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10, "十一": 11, "十二": 12, "半": 0, "日": 7, "天": 7,
	"one": 1, "a": 1, "an": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12, "couple of": 2, "a couple of": 2, "few": 3, "a few": 3,
	"mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6, "sun": 7}

func number(s string) int {
	s = strings.ToLower(strings.TrimSpace(s))
	if n, ok := hanDigits[s]; ok {
		return n
	}
	if n, err := strconv.Atoi(s); err == nil {
		return n
	}
	if r := []rune(s); len(r) >= 2 { // 二十, 二十三, 十五
		tens, ones := 1, 0
		parts := strings.SplitN(s, "十", 2)
		if len(parts) != 2 {
			return 0
		}
		if parts[0] != "" {
			tens = hanDigits[parts[0]]
		}
		if parts[1] != "" {
			ones = hanDigits[parts[1]]
		}
		return tens*10 + ones
	}
	return 0
}

const (
	numHan  = `([0-9]{1,3}|[一二两三四五六七八九十]{1,3})`
	numEN   = `(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|a couple of|a few)`
	weekEN  = `(mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)`
	hourHan = `(?:\s*(凌晨|早上|上午|中午|下午|傍晚|晚上|晚|早)?\s*([0-9]{1,2}|[一二两三四五六七八九十]{1,3})(?:[点时](?:(半)|([0-9]{1,2}|[一二三四五六七八九十]{1,3})分?)?|[:：]([0-9]{2})))?`
	hourEN  = `(?:,? (?:at )?(\d{1,2})(?::(\d{2}))? ?(a\.?m\.?|p\.?m\.?)?(?: o'?clock)?\b)?`
)

func addDays(n int) func([]string, time.Time) (time.Time, int, bool) {
	return func(_ []string, now time.Time) (time.Time, int, bool) { return now.AddDate(0, 0, n), 1, true }
}

// weekday is the day of the week that lies weeks after this one.
func weekday(now time.Time, day, weeks int) time.Time {
	today := (int(now.Weekday())+6)%7 + 1
	return now.AddDate(0, 0, day-today+7*weeks)
}

var datePatterns = []datePattern{
	{rxd(`大后天`), addDays(3)}, {rxd(`后天`), addDays(2)}, {rxd(`明[天日]|明(?:[早晚])`), addDays(1)}, {rxd(`今[天日]|今[早晚]`), addDays(0)}, {rxd(`前天`), addDays(-2)}, {rxd(`昨[天日晚]`), addDays(-1)},
	{rxd(`(下下|下|这|本|上)(?:个)?(?:周|星期|礼拜)([一二三四五六日天])`), func(m []string, now time.Time) (time.Time, int, bool) {
		return weekday(now, number(m[2]), map[string]int{"下下": 2, "下": 1, "上": -1}[m[1]]), 1, true
	}},
	{rxd(`(下下|下|这|本|上)(?:个)?(?:周|星期|礼拜)`), func(m []string, now time.Time) (time.Time, int, bool) {
		return weekday(now, 1, map[string]int{"下下": 2, "下": 1, "上": -1}[m[1]]), spanWeek, true
	}},
	{rxd(numHan + `(?:个)?(天|日|周|星期|礼拜|月|年)(?:之后|以后|后)`), func(m []string, now time.Time) (time.Time, int, bool) { return after(now, number(m[1]), m[2]) }},
	{rxd(numHan + `(?:个)?(天|日|周|星期|礼拜|月|年)(?:之前|以前|前)`), func(m []string, now time.Time) (time.Time, int, bool) { return ago(now, number(m[1]), m[2]) }},
	{rxd(`(下|这|本)个?月` + numHan + `[日号]`), func(m []string, now time.Time) (time.Time, int, bool) {
		month := now.Month()
		if m[1] == "下" {
			month++
		}
		return onDay(now, now.Year(), month, number(m[2]))
	}},
	{rxd(`下个月|\bnext month\b`), func(_ []string, now time.Time) (time.Time, int, bool) { return monthFrom(now, 1) }},
	{rxd(`上个月|\blast month\b`), func(_ []string, now time.Time) (time.Time, int, bool) { return monthFrom(now, -1) }},
	{rxd(`明年` + numHan + `月(?:` + numHan + `[日号])?`), func(m []string, now time.Time) (time.Time, int, bool) { return inYear(now, now.Year()+1, m) }},
	{rxd(`今年` + numHan + `月(?:` + numHan + `[日号])?`), func(m []string, now time.Time) (time.Time, int, bool) { return inYear(now, now.Year(), m) }},
	{rxd(`(明年|今年|去年|前年)`), func(m []string, now time.Time) (time.Time, int, bool) {
		return yearFrom(now, map[string]int{"明年": 1, "去年": -1, "前年": -2}[m[1]])
	}},

	{rxd(`\bthe day after tomorrow\b`), addDays(2)}, {rxd(`\btomorrow\b(?:'s\b)?(?: (?:morning|afternoon|evening|night))?`), addDays(1)}, {rxd(`\b(?:today\b(?:'s\b)?|tonight\b|this (?:morning|afternoon|evening)\b)`), addDays(0)},
	{rxd(`\b(?:yesterday\b(?:'s\b)?|last night\b)`), addDays(-1)},
	{rxd(`\b(?:on )?(next|this|this coming) ` + weekEN + `\b`), func(m []string, now time.Time) (time.Time, int, bool) {
		weeks := 0
		if strings.EqualFold(m[1], "next") {
			weeks = 1
		}
		return weekday(now, number(m[2]), weeks), 1, true
	}},
	{rxd(`\bin ` + numEN + ` (day|week|month|year)s?(?: time)?\b|\b` + numEN + ` (day|week|month|year)s? from (?:now|today)\b`), func(m []string, now time.Time) (time.Time, int, bool) {
		return after(now, number(m[1]+m[3]), m[2]+m[4])
	}},
	{rxd(`\bnext week\b`), func(_ []string, now time.Time) (time.Time, int, bool) { return weekday(now, 1, 1), spanWeek, true }},
	{rxd(`\bthis week\b`), func(_ []string, now time.Time) (time.Time, int, bool) { return weekday(now, 1, 0), spanWeek, true }},
	{rxd(`\b(next|this|last) year\b`), func(m []string, now time.Time) (time.Time, int, bool) {
		return yearFrom(now, map[string]int{"next": 1, "last": -1}[strings.ToLower(m[1])])
	}},
	{rxd(`\blast week\b`), func(_ []string, now time.Time) (time.Time, int, bool) { return weekday(now, 1, -1), spanWeek, true }},
	{rxd(`\b(?:on )?last ` + weekEN + `\b`), func(m []string, now time.Time) (time.Time, int, bool) {
		day := weekday(now, number(m[1]), 0)
		if !day.Before(now) { // the latest one that is over
			day = day.AddDate(0, 0, -7)
		}
		return day, 1, true
	}},
	{rxd(`\b` + numEN + ` (day|week|month|year)s? ago\b`), func(m []string, now time.Time) (time.Time, int, bool) { return ago(now, number(m[1]), m[2]) }},
}

var isoDay = regexp.MustCompile(`\b(20\d\d)-(\d{1,2})-(\d{1,2})\b|(20\d\d)年(\d{1,2})月(\d{1,2})[日号]`)

func rxd(s string) *prefilter.Pattern { return datePatternSet.Compile(`(?i)` + s) }

func after(now time.Time, n int, unit string) (time.Time, int, bool) {
	if n <= 0 {
		return now, 0, false
	}
	switch strings.ToLower(unit) {
	case "天", "日", "day":
		return now.AddDate(0, 0, n), 1, true
	case "周", "星期", "礼拜", "week":
		return now.AddDate(0, 0, 7*n), 1, true
	case "月", "month":
		return now.AddDate(0, n, 0), 1, true
	}
	return now.AddDate(n, 0, 0), 1, true
}

// ago is as exact as its unit: two weeks ago is a week, three years ago a year.
func ago(now time.Time, n int, unit string) (time.Time, int, bool) {
	if n <= 0 {
		return now, 0, false
	}
	switch strings.ToLower(unit) {
	case "天", "日", "day":
		return now.AddDate(0, 0, -n), 1, true
	case "周", "星期", "礼拜", "week":
		return weekday(now, 1, -n), spanWeek, true
	case "月", "month":
		return monthFrom(now, -n)
	}
	return yearFrom(now, -n)
}

func monthFrom(now time.Time, n int) (time.Time, int, bool) {
	return time.Date(now.Year(), now.Month()+time.Month(n), 1, 12, 0, 0, 0, now.Location()), spanMonth, true
}

func yearFrom(now time.Time, n int) (time.Time, int, bool) {
	return time.Date(now.Year()+n, 1, 1, 12, 0, 0, 0, now.Location()), spanYear, true
}

func onDay(now time.Time, year int, month time.Month, day int) (time.Time, int, bool) {
	return time.Date(year, month, day, 12, 0, 0, 0, now.Location()), 1, day >= 1 && day <= 31
}

func inYear(now time.Time, year int, m []string) (time.Time, int, bool) {
	month := number(m[1])
	if month < 1 || month > 12 {
		return now, 0, false
	}
	if m[2] == "" {
		return time.Date(year, time.Month(month), 1, 12, 0, 0, 0, now.Location()), spanMonth, true
	}
	return onDay(now, year, time.Month(month), number(m[2]))
}

var (
	hourAfterHan = regexp.MustCompile(`^` + hourHan)
	hourAfterEN  = regexp.MustCompile(`(?i)^` + hourEN)
	hourBeforeEN = regexp.MustCompile(`(?i)\b(?:at )?(\d{1,2})(?::(\d{2}))? ?(a\.?m\.?|p\.?m\.?)? $`)
)

// absolute writes the relative dates of a text as dates in the user's zone, as
// of when it was said: "明天下午三点" becomes "2026-12-01 15:00".
func absolute(text string, at time.Time, zone *time.Location) dated {
	now := at.In(zone)
	d := dated{text: text}
	for pos := 0; pos < len(d.text); {
		start, end, day, span, word := firstDate(d.text[pos:], now)
		if end == 0 {
			break
		}
		start, end = start+pos, end+pos
		shown, timed := dateText(day, span, chinese(d.text)), false
		if span == 1 {
			if clock, from, to, ok := clockAt(d.text, start, end, word); ok {
				shown += " " + clock
				start, end, timed = from, to, true
			}
		}
		d.see(lastDay(day, span), now, timed)
		shown = spaced(d.text[:start], shown, d.text[end:])
		pos = start + len(shown)
		d.text = d.text[:start] + shown + d.text[end:]
	}
	if !strings.Contains(d.text, "20") {
		return d
	}
	for _, m := range isoDay.FindAllStringSubmatch(d.text, -1) {
		y, _ := strconv.Atoi(m[1] + m[4])
		mo, _ := strconv.Atoi(m[2] + m[5])
		da, _ := strconv.Atoi(m[3] + m[6])
		if mo >= 1 && mo <= 12 && da >= 1 && da <= 31 {
			d.see(time.Date(y, time.Month(mo), da, 12, 0, 0, 0, zone), now, false)
		}
	}
	return d
}

// The spans of a date pattern that are not a number of days.
const (
	spanWeek  = 7
	spanMonth = -1
	spanYear  = -12
)

// dateText writes the day, week, month or year that begins at day.
func dateText(day time.Time, span int, zh bool) string {
	switch {
	case span == spanWeek && zh:
		return day.Format("2006-01-02") + " 那周"
	case span == spanWeek:
		return "the week of " + day.Format("2006-01-02")
	case span == spanMonth:
		return day.Format("2006-01")
	case span == spanYear && zh:
		return day.Format("2006") + "年"
	case span == spanYear:
		return day.Format("2006")
	}
	return day.Format("2006-01-02")
}

// lastDay is the last day of a span that begins at day.
func lastDay(day time.Time, span int) time.Time {
	switch span {
	case spanWeek:
		return day.AddDate(0, 0, 6)
	case spanMonth:
		return day.AddDate(0, 1, -1)
	case spanYear:
		return day.AddDate(1, 0, -1)
	}
	return day
}

// see notes a day. Today is to come only where an hour is named.
func (d *dated) see(day, now time.Time, timed bool) {
	end := time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, day.Location())
	if end.After(d.last) {
		d.last = end
	}
	d.future = d.future || end.After(now) && (timed || day.YearDay() != now.YearDay() || day.Year() != now.Year())
}

// firstDate finds the first relative date of s.
func firstDate(s string, now time.Time) (start, end int, day time.Time, span int, word string) {
	start = len(s) + 1
	hits := datePatternSet.Scan(s)
	for i := range datePatterns {
		p := &datePatterns[i]
		if !p.match.May(&hits) {
			continue
		}
		m := p.match.FindStringSubmatchIndex(s)
		if m == nil || m[0] > start || m[0] == start && m[1] <= end {
			continue
		}
		groups := make([]string, len(m)/2)
		for g := range groups {
			if m[2*g] >= 0 {
				groups[g] = s[m[2*g]:m[2*g+1]]
			}
		}
		if at, n, ok := p.day(groups, now); ok {
			start, end, day, span, word = m[0], m[1], at, n, groups[0]
		}
	}
	if start > len(s) {
		return 0, 0, day, 0, ""
	}
	return start, end, day, span, word
}

// clockAt reads the hour beside a date: after it, or in English before it.
func clockAt(text string, start, end int, word string) (clock string, from, to int, ok bool) {
	if m := hourAfterHan.FindStringSubmatch(text[end:]); m != nil && m[2] != "" {
		hour, minute := number(m[2]), 0
		switch {
		case m[3] != "":
			minute = 30
		case m[4] != "":
			minute = number(m[4])
		case m[5] != "":
			minute = number(m[5])
		}
		part := m[1]
		if part == "" && strings.HasSuffix(word, "晚") {
			part = "晚"
		}
		if hour < 12 && (part == "下午" || part == "傍晚" || part == "晚上" || part == "晚") || part == "中午" && hour < 3 {
			hour += 12
		}
		if hour <= 24 && minute < 60 {
			return fmt.Sprintf("%02d:%02d", hour, minute), start, end + len(m[0]), true
		}
	}
	if m := hourAfterEN.FindStringSubmatch(text[end:]); m != nil && m[1] != "" && (m[2] != "" || m[3] != "" || strings.Contains(strings.ToLower(m[0]), "at ")) {
		if clock, ok := clockEN(m, word); ok {
			return clock, start, end + len(m[0]), true
		}
	}
	if m := hourBeforeEN.FindStringSubmatch(text[:start]); m != nil && (m[2] != "" || m[3] != "") {
		if clock, ok := clockEN(m, word); ok {
			return clock, start - len(m[0]), end, true
		}
	}
	return "", 0, 0, false
}

func clockEN(m []string, word string) (string, bool) {
	hour, _ := strconv.Atoi(m[1])
	minute, _ := strconv.Atoi(m[2])
	half := strings.ToLower(m[3])
	word = strings.ToLower(word)
	if half == "" && (strings.Contains(word, "night") || strings.Contains(word, "evening") || strings.Contains(word, "afternoon")) {
		half = "p"
	}
	switch {
	case strings.HasPrefix(half, "p") && hour < 12:
		hour += 12
	case strings.HasPrefix(half, "a") && hour == 12:
		hour = 0
	}
	return fmt.Sprintf("%02d:%02d", hour, minute), hour < 24 && minute < 60
}

// spaced sets a date off from letters that touch it.
func spaced(before, date, after string) string {
	if r, _ := utf8.DecodeLastRuneInString(before); before != "" && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		date = " " + date
	}
	if r, _ := utf8.DecodeRuneInString(after); after != "" && digitEnds(date) && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		date += " "
	}
	return date
}

func digitEnds(s string) bool { return s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }
