package policy

import (
	"os"
	"strings"
	"testing"
)

func TestRedactCaseC076(t *testing.T) {
	b, err := os.ReadFile("testdata/C076.txt")
	if err != nil {
		t.Fatal(err)
	}
	clean, found := Redact(string(b))
	for _, value := range []string{"sk-test", "FAKE0123456789abcdef", "AKIAFAKE", "FAKEFAKE", "wJalr", "FAKEKEY", "abcdefgh12", "hunter2", "postgres://app", "11010119900307", "13800000000", "eyJ", "FAKEsig"} {
		if strings.Contains(clean, value) {
			t.Errorf("%q is left in %s", value, clean)
		}
	}
	for _, around := range []string{"记一下：测试网关的 key 是", "AWS 是", "身份证", "手机", "Bearer"} {
		if !strings.Contains(clean, around) {
			t.Errorf("the sentence lost %q: %s", around, clean)
		}
	}
	if found < 6 {
		t.Errorf("found %d", found)
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"use sk-proj-Ab12Cd34Ef56Gh78Ij90 please", "use [redacted:key] please"},
		{"sk-ant-api03-AbCdEf123456_x-y", "[redacted:key]"},
		{"token ghp_0123456789abcdefABCDEF0123456789abcd.", "token [redacted:key]."},
		{"github_pat_11ABCDEFG0123456789_abcdefghij", "[redacted:key]"},
		{"AIzaSyA0123456789abcdefghijklmnopqrstuv", "[redacted:key]"},
		{"xoxb-123456789012-abcDEF", "[redacted:key]"},
		{"AKIAIOSFODNN7EXAMPLE,wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY end", "[redacted:key] end"},
		{"-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY----- done", "[redacted:private_key] done"},
		{"-----BEGIN PRIVATE KEY-----\nMIIBVgIBADANBg", "[redacted:private_key]"},
		{"see https://bob:s3cret@host.test/x", "see https://[redacted:credentials]@host.test/x"},
		{"dsn mysql://root:pw@10.0.0.1:3306/db, ok", "dsn [redacted:credentials], ok"},
		{"password = swordfish", "password = [redacted:password]"},
		{`{"password":"open sesame"}`, `{"password":"[redacted:password] sesame"}`},
		{"DB_PASSWORD=abc123!x", "DB_PASSWORD=[redacted:password]"},
		{"api_key: 9f8e7d6c5b4a3f2e", "api_key: [redacted:key]"},
		{"my wifi password is tiger77, try it", "my wifi password is [redacted:password], try it"},
		{"My wifi password is sesame", "My wifi password is [redacted:password]"},
		{"邮箱密码是tiger77，你试试", "邮箱密码是[redacted:password]，你试试"},
		{"验证码是 834921", "验证码是 [redacted:code]"},
		{"口令：芝麻开门", "口令：[redacted:password]"},
		{"密钥为abcd1234efgh", "密钥为[redacted:key]"},
		{"身份证号11010519491231002X。", "身份证号[redacted:id_number]。"},
		{"id 11010519491231002X ok", "id [redacted:id_number] ok"},
		{"call 13912345678 or 138-1234-5678", "call [redacted:phone] or [redacted:phone]"},
		{"+86 139 1234 5678", "[redacted:phone]"},
		{"+1 (555) 123-4567", "[redacted:phone]"},
		{"555-123-4567", "[redacted:phone]"},
		{"座机 010-12345678", "座机 [redacted:phone]"},
		{"card 4111 1111 1111 1111 exp", "card [redacted:card] exp"},
		{"write to bob.smith+x@mail.example.com.", "write to [redacted:email]."},
		{"邮箱zhang@example.cn，谢谢", "邮箱[redacted:email]，谢谢"},
	} {
		got, found := Redact(c.in)
		if got != c.want || found == 0 {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
		if again, n := Redact(got); again != got || n != 0 {
			t.Errorf("twice: %q", again)
		}
	}
}

func TestRedactLeavesOrdinaryText(t *testing.T) {
	for _, s := range []string{
		"Revenue was 12,345,678.90 in 2024-11-30, up 3.5%.", "会议在2026-12-01 15:00，5号楼301室。", "order 4111111111111112", "ts 1732950000000",
		"9007199254740993 and 123456789012345678901234567890", "v1.2.3-rc.4+build.20240101", "max_tokens=4096, token: string", "password: required",
		"The token is expired and the password is required.", "how do I reset my password?", "我的密码是什么？", "密码是必填的", "密码错误怎么办", "the secret is to rest",
		"token = getToken(req)", `password = os.environ["DB_PASSWORD"]`, "api_key=api_key", "import sk-learn-contrib as x", "sk-something-very-long-and-plain-words",
		"commit 9fceb02d0ae598e95dc970b74767f19372d61af8", "http://localhost:4470/v1/chat", "git@github.com:owner/repo.git", "user@host and @pytest.fixture", "react@18.2.0",
		"192.168.1.100:8080", "ISBN 978-3-16-148410-0", "公式 1+1234567890 等于", "项目代号是 ZEBRA-41", "locker code is ZEBRA-41", "the key is to listen", "手机是华为的", "1.13912345678",
		"uuid 123e4567-e89b-12d3-a456-426614174000", "the pin is 5mm wide", "电话会议改到10点", "keyboard shortcuts: ctrl-c", "-----BEGIN CERTIFICATE-----",
	} {
		if got, n := Redact(s); n != 0 || got != s {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{"my password is hunter2", "密码是abc123", "+86 139 1234 5678", "a@b.co", "mysql://a:b@c/d", "-----BEGIN PRIVATE KEY-----\nx", "sk-aaaaaaaaaaaaaaaaaaa1", "eyJhbGciOiJI.eyJzdWIi.x", "[redacted:key]", "(555) 123-4567"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, found := Redact(s)
		if (found == 0) != (once == s) && found == 0 {
			t.Fatalf("changed without a find: %q -> %q", s, once)
		}
		NeverStore(s)
		Guard(s)
	})
}

func BenchmarkRedactClean(b *testing.B) {
	en := strings.Repeat("The team meets in the large room on the second floor and talks about what the release needs before spring. ", 400)
	zh := strings.Repeat("团队每周在二楼的大会议室碰头，讨论春季发布之前还缺什么，以及谁来负责每一项工作。", 400)
	for name, s := range map[string]string{"en": en, "zh": zh} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				Redact(s)
			}
		})
	}
}
