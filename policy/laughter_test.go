package policy

import "testing"

// 233 is a laugh where it stands for itself, and a number everywhere else.
func TestLaughterIsNoNumber(t *testing.T) {
	for text, want := range map[string]string{
		"233": "smalltalk", "2333!": "smalltalk", "哈哈233": "smalltalk", "233 哈哈": "smalltalk", "lol 哈哈哈": "smalltalk", "哈哈哈哈": "smalltalk",
		"My office is in ZEBRA-100233": "", "My parking spot is 233": "", "The room's number is 1233": "", "我的车位是233": "",
	} {
		if got := NeverStore(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
