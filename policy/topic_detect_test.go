package policy

import "testing"

// Whoever is to be answered may stand between the verb and the language, in
// any order with what else may.
func TestLanguageFacts(t *testing.T) {
	for text, want := range map[string]string{
		"always answer me in French": "French", "Always answer me in German.": "German", "answer us in Dutch": "Dutch", "reply to me in German": "German", "write me in French": "French",
		"write to me in Thai": "Thai", "speak to me in Hindi": "Hindi", "talk to us in Polish": "Polish", "respond to us in Italian from now on": "Italian", "write us back in Spanish": "Spanish",
		"chat with me in Korean": "Korean", "communicate with us in Arabic": "Arabic", "address me in Russian": "Russian", "please answer us only in French": "French", "answer me always in French": "French",
		"answer all my questions in French": "French", "respond to any of our messages in Dutch": "Dutch", "answer everything I ask in Turkish": "Turkish", "I'd like you to answer me in simplified Chinese": "simplified Chinese",
		"your answers to me should always be in German": "German", "keep your answers to us in German": "German", "speak French to me": "French", "talk only Spanish with us, please": "Spanish", "use Japanese with me from now on": "Japanese",
		"answer in Greek, not in German": "", "answer this one in French": "", "write me a letter in French": "", "write a letter to me in French": "", "reply to the customer in German": "", "write to my boss in French": "",
		"reply to this email in French": "", "how do I write to me in French": "", "talk to us about French history": "", "call me in German": "",

		"请一直用法语跟我说话": "法语", "以后都用英文跟我聊": "英文", "用日语答复我": "日语", "跟我说法语": "法语", "和我们讲英语": "英语", "请以英文回复我": "英文", "以后以德语跟我交流": "德语", "请始终用德语回答我们": "德语",
		"请中文跟我说": "中文", "英文跟我聊就行": "英文", "全部英文回复": "英文", "从现在起俄语回答我": "俄语", "跟我聊天请用英文": "英文", "我希望你用韩语回我": "韩语", "以英语为主": "英语", "以后请全程英文": "英文", "以后都粤语": "粤语",
		"以英语专业毕业": "", "以中文为例": "", "把标题全部中文": "", "帮我用英文写一封邮件": "", "这次用英文跟我说": "",
	} {
		got := ""
		for _, f := range Facts(text) {
			if f.Topic == "language" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// How one is to be addressed is a name, but for what follows a preposition.
func TestNamesOfAddress(t *testing.T) {
	for text, want := range map[string]string{
		"Call me Ingrid": "Ingrid", "call me Onur from now on": "Onur", "Address me as Novak": "Novak", "Please address me in German": "", "call me back": "", "call me at noon": "", "Call me in May": "",
	} {
		got := ""
		for _, f := range Facts(text) {
			if f.Topic == "name" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
