package intent

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// openings and closings are courtesies around a request. They say nothing of
// the work that is asked for, in whatever words.
var (
	openings = []string{"hi there", "hello there", "hi all", "hi team", "good morning", "good afternoon", "good evening", "hello", "hey", "hi",
		"各位好", "大家好", "早上好", "上午好", "下午好", "晚上好", "老师好", "你好", "您好", "哈喽", "哈啰", "嗨", "在吗", "请问一下", "请问"}
	closings = []string{"thank you very much", "thank you so much", "thanks in advance", "thank you in advance", "thanks a lot", "many thanks", "thank you", "thanks", "thx", "cheers",
		"if you please", "please", "pls", "plz", "谢谢大家", "谢谢你", "谢谢您", "谢谢啦", "谢谢了", "谢谢", "谢啦", "多谢", "非常感谢", "感谢", "拜托了", "拜托", "麻烦你了", "麻烦您了", "麻烦了"}
	// asides close a request only behind a comma: 这部电影好吗 asks for something.
	asides = []string{"好吗", "好嘛", "好不好", "行不", "可好", "ok", "okay", "will you", "would you"}
)

const signs = " ,.!~\n"

// plainRequest takes the courtesies off normalized text, unless nothing else is
// said.
func plainRequest(b []byte) []byte {
	for {
		shorter := closeCut(openCut(b))
		if len(shorter) == len(b) {
			return b
		}
		b = shorter
	}
}

func openCut(b []byte) []byte {
	t := bytes.TrimLeft(b, signs)
	for _, o := range openings {
		rest, ok := bytes.CutPrefix(t, []byte(o))
		if !ok || len(rest) == 0 {
			continue
		}
		asks := strings.HasPrefix(o, "请问")
		if !asks && strings.IndexByte(signs+"?:", rest[0]) < 0 {
			continue
		}
		if rest = bytes.TrimLeft(rest, signs+"?:"); enough(rest) {
			return rest
		}
	}
	return b
}

func closeCut(b []byte) []byte {
	t := bytes.TrimRight(b, signs)
	for _, c := range closings {
		if rest, ok := bytes.CutSuffix(t, []byte(c)); ok && ends(rest, c) {
			if rest = bytes.TrimRight(rest, signs); enough(rest) {
				return rest
			}
		}
	}
	t = bytes.TrimRight(t, signs+"?")
	for _, c := range asides {
		if rest, ok := bytes.CutSuffix(t, []byte(c)); ok && bytes.HasSuffix(bytes.TrimRight(rest, " "), []byte(",")) {
			if rest = bytes.TrimRight(rest, signs); enough(rest) {
				return rest
			}
		}
	}
	return b
}

// ends tells whether a closing stands by itself behind rest.
func ends(rest []byte, closing string) bool {
	if len(rest) == 0 {
		return false
	}
	last := rest[len(rest)-1]
	return closing[0] >= utf8.RuneSelf && strings.IndexByte(signs+"?", last) >= 0 || closing[0] < utf8.RuneSelf && (last >= utf8.RuneSelf || !wordByte(rest, len(rest)-1))
}

// enough tells whether a request is left: more than one word.
func enough(b []byte) bool {
	if len(b) >= 6 && b[0] >= utf8.RuneSelf {
		return true
	}
	return bytes.IndexByte(bytes.TrimSpace(b), ' ') > 0 || bytes.IndexFunc(b, func(r rune) bool { return r >= firstIdeograph }) >= 0 && len(b) >= 6
}
