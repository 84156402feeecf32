package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"strata/intent"
	"strata/policy"
)

// Config is everything that can be set. The yaml tags are the keys, the doc
// tags what `config init` writes about them; secret marks values that are
// never shown and have a twin key ending in _file.
type Config struct {
	Listen  string `yaml:"listen" doc:"Where apps send their OpenAI calls."`
	DataDir string `yaml:"data_dir" doc:"Folder for everything Strata keeps. Default: $XDG_DATA_HOME/strata, else ~/.local/share/strata."`
	Mode    string `yaml:"mode" doc:"What happens to chat requests: on, observe, read-only, write-only, off. X-Strata-Mode overrides it per request."`
	Stage   string `yaml:"stage" doc:"How much is switched on, each with what is before it: route (decide), summary (record), write (learn), recall (give context)."`
	Tenant  string `yaml:"tenant" doc:"The organisation that requests belong to when they do not say (X-Strata-Tenant)."`

	Identity struct {
		DefaultUser   string   `yaml:"default_user" doc:"The user of requests that name none. Empty: such requests get documents only. On a terminal without a configuration file: you."`
		Preset        string   `yaml:"preset" doc:"Read identity as a front end sends it: openwebui or librechat."`
		UserHeader    string   `yaml:"user_header" doc:"A header that names the user, instead of X-Strata-User."`
		SessionHeader string   `yaml:"session_header" doc:"A header that names the conversation, instead of X-Strata-Session."`
		TenantHeader  string   `yaml:"tenant_header" doc:"A header that names the tenant, instead of X-Strata-Tenant."`
		GroupsHeader  string   `yaml:"groups_header" doc:"A header that lists the user's groups, instead of X-Strata-Groups."`
		Body          []string `yaml:"body" doc:"Members of the request body that may name the user when no header does, such as user, metadata.user_id. safety_identifier always may."`
	} `yaml:"identity"`

	UserText struct {
		Pattern string `yaml:"pattern" doc:"Regular expression with one group: the user's own words inside of what the app wraps around them."`
	} `yaml:"user_text"`

	Timezone string `yaml:"timezone" doc:"Zone of days such as tomorrow, as Asia/Shanghai, for requests that do not say (X-Strata-Timezone). Empty: this machine's."`
	Models   Models `yaml:"models" doc:"Context windows in tokens, by model name or pattern, so that context never overflows one: {gpt-4o*: {window: 128000}}."`

	Upstream struct {
		BaseURL          string        `yaml:"base_url" doc:"The API behind Strata, with or without its version segment."`
		APIKey           string        `yaml:"api_key" secret:"true" doc:"Sent to upstream in place of the client's key. Empty: clients bring their own."`
		MaxConnections   int           `yaml:"max_connections" doc:"Requests in flight at one time; more wait."`
		QueueWait        time.Duration `yaml:"queue_wait" doc:"How long they wait before they get a 503."`
		ConnectTimeout   time.Duration `yaml:"connect_timeout" doc:"For connecting, TLS included."`
		FirstByteTimeout time.Duration `yaml:"first_byte_timeout" doc:"For an answer to begin. Thinking models take minutes."`
		IdleTimeout      time.Duration `yaml:"idle_timeout" doc:"For silence within an answer. A whole answer may take any time."`
	} `yaml:"upstream"`

	Limits struct {
		Header        Size          `yaml:"header" doc:"Largest head of a request or an answer (4KB to 1MB)."`
		Body          Size          `yaml:"body" doc:"Largest request body."`
		HeaderTimeout time.Duration `yaml:"header_timeout" doc:"For a request's head to arrive, and the slack a body gets above 4 KB a second."`
	} `yaml:"limits"`

	Enrich struct {
		MaxBody Size `yaml:"max_body" doc:"Chat bodies above this pass through unread."`
		Buffers Size `yaml:"buffers" doc:"Memory for all chat bodies held at one time; when used up, further ones pass through unread."`
	} `yaml:"enrich"`

	Plan struct {
		Chat PlanRow `yaml:"chat"`
		RAG  PlanRow `yaml:"rag"`
		Data PlanRow `yaml:"data"`
	} `yaml:"plan"`

	Intent struct {
		Keywords struct {
			Chat []string `yaml:"chat" doc:"Words and phrases of yours: a message that holds one is a CHAT question (explain, advise, polish)."`
			RAG  []string `yaml:"rag" doc:"The same for RAG (policies, processes, organisational knowledge)."`
			Data []string `yaml:"data" doc:"The same for DATA (files, figures, trends)."`
		} `yaml:"keywords"`
		Patterns struct {
			Chat Lines `yaml:"chat" doc:"Regular expressions that do the same, on the text as it was written, in Go's syntax: ['(?i)\\bticket-\\d+']. As a variable: one a line."`
			RAG  Lines `yaml:"rag" doc:"The same for RAG."`
			Data Lines `yaml:"data" doc:"The same for DATA."`
		} `yaml:"patterns"`
		Examples struct {
			Chat Lines `yaml:"chat" doc:"Whole messages: one that says nearly the same is a CHAT question. As a variable: one a line."`
			RAG  Lines `yaml:"rag" doc:"The same for RAG."`
			Data Lines `yaml:"data" doc:"The same for DATA."`
		} `yaml:"examples"`
		ExamplesFile string         `yaml:"examples_file" doc:"A file with more of them, one a line: {text: ..., label: chat, rag or data} as JSON. Read at the start."`
		Defaults     IntentDefaults `yaml:"defaults" doc:"The kind of questions whose words decide nothing, by model or path, the first that fits: [{model: hr-*, intent: rag}, {route: /bi/*, intent: data}]. Else CHAT."`
		Judge        struct {
			Model string `yaml:"model" doc:"A model at upstream that looks again at messages whose kind was unsure, after the answer, for the turns that follow. It sees the user's words, redacted. Needs upstream.api_key, since a client's key is never kept. Empty: off."`
		} `yaml:"judge"`
	} `yaml:"intent"`

	Store struct {
		OnError string `yaml:"on_error" doc:"When the stores cannot be opened: exit, or passthrough (serve without context, loudly, and try again). Default: exit on a terminal, else passthrough."`
	} `yaml:"store"`

	Ledger struct {
		URL string `yaml:"url" doc:"File of the system of record. Default: ledger.db in data_dir."`
	} `yaml:"ledger"`

	Index struct {
		URL    string `yaml:"url" doc:"File of the search index, which can be deleted at any time, or a Weaviate server, as http://weaviate:8080. Default: index.db in data_dir."`
		APIKey string `yaml:"api_key" secret:"true" doc:"Sent to the Weaviate server of index.url."`
	} `yaml:"index"`

	Embedder struct {
		BaseURL    string `yaml:"base_url" doc:"An OpenAI-compatible API whose /embeddings makes vectors of documents and questions, as https://api.openai.com/v1 or http://localhost:11434. It sees their text, redacted. Empty: full text search alone."`
		Model      string `yaml:"model" doc:"The model it is asked for, such as text-embedding-3-small."`
		APIKey     string `yaml:"api_key" secret:"true" doc:"Sent to it. A client's key never is, nor upstream.api_key."`
		Dimensions int    `yaml:"dimensions" doc:"Length of its vectors, for models that let it be chosen. 0: what the model gives."`
		Rebuild    string `yaml:"rebuild" doc:"When the embedder's vectors are no longer those that documents have: manual (full text alone, until strata index rebuild) or auto (the documents are embedded anew, at its price)."`
	} `yaml:"embedder"`

	Reranker struct {
		BaseURL string `yaml:"base_url" doc:"An API whose /rerank scores passages against the question, as Cohere, Jina (with a version segment: https://api.jina.ai/v1) or Text Embeddings Inference (http://localhost:8082) have it. It sees both, redacted. Empty: none."`
		Model   string `yaml:"model" doc:"The model it is asked for. Servers that hold a single one need none."`
		APIKey  string `yaml:"api_key" secret:"true" doc:"Sent to it. A client's key never is, nor upstream.api_key."`
	} `yaml:"reranker"`

	Citations string `yaml:"citations" doc:"Tell the client which documents an answer was given: off, or header."`

	AllowOrigins []string `yaml:"allow_origins" doc:"Origins of browser pages that may call, such as http://localhost:3000."`
	AllowHosts   []string `yaml:"allow_hosts" doc:"Further Host names for loopback listeners, which otherwise answer to addresses, localhost, single-label and .internal names."`

	Auth struct {
		Mode string `yaml:"mode" doc:"Must be trusted-network before listen may be other than loopback: whoever reaches it is trusted."`
	} `yaml:"auth"`

	Admin struct {
		Listen string `yaml:"listen" doc:"Control plane and metrics; off for none."`
		Token  string `yaml:"token" secret:"true" doc:"Bearer token of the control plane. Default: made at first start in data_dir/admin.token."`
	} `yaml:"admin"`

	Health struct {
		Listen string `yaml:"listen" doc:"Another address for /livez, /readyz and /metrics alone, for probes; off for none."`
	} `yaml:"health"`

	Drain struct {
		Max time.Duration `yaml:"max" doc:"How long answers in flight may go on after SIGTERM, and then the stores may write what waits."`
	} `yaml:"drain"`

	Log struct {
		Level  string `yaml:"level" doc:"debug, info, warn or error."`
		Format string `yaml:"format" doc:"text or json. Default: text on a terminal, else json."`
	} `yaml:"log"`
}

// PlanRow is what one kind of question may take.
type PlanRow struct {
	Budget   int           `yaml:"budget" doc:"Tokens of context at most, for this kind of question."`
	Deadline time.Duration `yaml:"deadline" doc:"How long gathering them may take; the request then goes on with what is there."`
}

// planChanges are the plan's keys as changes of the table.
func (c *Config) planChanges() map[intent.Intent]policy.RowChange {
	change := func(r PlanRow) policy.RowChange { return policy.RowChange{Budget: r.Budget, Deadline: r.Deadline} }
	return map[intent.Intent]policy.RowChange{
		intent.Chat: change(c.Plan.Chat), intent.RAG: change(c.Plan.RAG), intent.Data: change(c.Plan.Data),
	}
}

// defaults returns the configuration of an empty file.
func defaults(getenv func(string) string) Config {
	var c Config
	c.Listen = "127.0.0.1:4470"
	c.DataDir = defaultDataDir(getenv)
	c.Mode = "on"
	c.Stage = "recall"
	c.Tenant = "default"
	for kind, row := range map[intent.Intent]*PlanRow{intent.Chat: &c.Plan.Chat, intent.RAG: &c.Plan.RAG, intent.Data: &c.Plan.Data} {
		standard := policy.DefaultTable()[kind]
		*row = PlanRow{standard.Budget, standard.Deadline}
	}
	c.Upstream.BaseURL = "https://api.openai.com/v1"
	c.Upstream.MaxConnections = 4096
	c.Upstream.QueueWait = 5 * time.Second
	c.Upstream.ConnectTimeout = 10 * time.Second
	c.Upstream.FirstByteTimeout = 15 * time.Minute
	c.Upstream.IdleTimeout = 15 * time.Minute
	c.Limits.Header = 16 << 10
	c.Limits.Body = 100 << 20
	c.Limits.HeaderTimeout = 30 * time.Second
	c.Enrich.MaxBody = 16 << 20
	c.Enrich.Buffers = 256 << 20
	c.Embedder.Rebuild = "manual"
	c.Citations = "off"
	c.Admin.Listen = "127.0.0.1:4471"
	c.Health.Listen = "off"
	c.Drain.Max = 25 * time.Second
	c.Log.Level = "info"
	return c
}

func defaultDataDir(getenv func(string) string) string {
	if dir := getenv("XDG_DATA_HOME"); dir != "" {
		return dir + "/strata"
	}
	if home := getenv("HOME"); home != "" {
		return home + "/.local/share/strata"
	}
	return "/var/lib/strata"
}

// Size is a number of bytes: 16777216, 16KB, 16KiB, 16MB, 1GB. The units are
// powers of 1024 with and without the i.
type Size int64

// ParseSize reads a Size.
func ParseSize(text string) (Size, error) {
	t := strings.ToUpper(strings.TrimSpace(text))
	unit := int64(1)
	for i, suffix := range []string{"K", "M", "G"} {
		for _, s := range []string{suffix + "IB", suffix + "B", suffix} {
			if rest, ok := strings.CutSuffix(t, s); ok && unit == 1 {
				t, unit = strings.TrimSpace(rest), int64(1)<<(10*(i+1))
			}
		}
	}
	t = strings.TrimSuffix(t, "B")
	n, err := strconv.ParseInt(t, 10, 64)
	if err != nil || n < 0 || n > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a size; write it like 16KB or 100MB", text)
	}
	return Size(n * unit), nil
}

func (s Size) String() string {
	for i, unit := range []string{"GB", "MB", "KB"} {
		if n := Size(1) << (10 * (3 - i)); s >= n && s%n == 0 {
			return fmt.Sprintf("%d%s", s/n, unit)
		}
	}
	return strconv.FormatInt(int64(s), 10)
}
