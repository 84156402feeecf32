package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"strata/intent"
	"strata/policy"
	"strata/stores"
)

// Intents keeps messages whose intent was put right. An empty user means any
// of the tenant's.
type Intents interface {
	// FixIntent takes the user's own words from an exchange, named by request
	// or answer id; words gets "" where none are recorded.
	FixIntent(ctx context.Context, scope stores.Scope, id, intent string, words func(asked string) (string, error)) (stores.IntentExample, error)
	AddExample(ctx context.Context, scope stores.Scope, e stores.IntentExample) (stores.IntentExample, error)
	ListExamples(ctx context.Context, tenant, user, cursor string, limit int) ([]stores.IntentExample, string, error)
	DeleteExample(ctx context.Context, tenant, user, id string) error
}

var intentNames = []string{string(intent.Chat), string(intent.RAG), string(intent.Data)}

// Of a long text the classifier sees head and tail, and less of both than is
// kept here, in bytes.
const (
	exampleHead = 2500
	exampleTail = 1400
)

var (
	errNoRequest = &problem{http.StatusNotFound, "not_found",
		"request_id: no request of this id is recorded for this tenant (and user); send the message itself as text (strata intent fix … --text)."}
	errNoWords = &problem{http.StatusConflict, "words_not_recorded",
		"request_id: the words of this request were not recorded (read-only, off the record, or nobody named); send the message itself as text (strata intent fix … --text)."}
)

func (c *calls) intentRoutes() []route {
	off := c.cfg.Intents == nil
	return []route{
		{"POST /v1/intents/examples", nil, off, c.addExample},
		{"GET /v1/intents/examples", paged, off, c.listExamples},
		{"GET /v1/intents/examples.jsonl", nil, off, c.exportExamples},
		{"DELETE /v1/intents/examples/{id}", nil, off, c.deleteExample},
	}
}

func (c *calls) addExample(w http.ResponseWriter, r *request) error {
	texts, err := r.object(w, []string{"request_id", "text", "intent"})
	if err != nil {
		return err
	}
	id, text, name := texts["request_id"], strings.TrimSpace(texts["text"]), texts["intent"]
	if !slices.Contains(intentNames, name) {
		return invalid("intent", "“"+printable(name)+"” is none; one of "+strings.Join(intentNames, ", "))
	}
	if id == "" && text == "" {
		return invalid("text", "missing; send text, or the request_id of a request whose words are recorded")
	}
	if why := malformed(id, maxID); why != "" {
		return invalid("request_id", why)
	}
	e, err := c.keepExample(r, id, text, name)
	if err != nil {
		return err
	}
	answer(w, http.StatusCreated, e)
	return nil
}

// keepExample keeps the words of a request, or text in their place. Text needs
// no request that is recorded.
func (c *calls) keepExample(r *request, id, text, name string) (stores.IntentExample, error) {
	scope := stores.Scope{Tenant: r.tenant, User: r.user}
	if id != "" {
		e, err := c.cfg.Intents.FixIntent(r.Context(), scope, id, name, func(asked string) (string, error) {
			if text == "" && asked == "" {
				return "", errNoWords
			}
			if text != "" {
				asked = text
			}
			return exampleText(asked)
		})
		if !errors.Is(err, stores.ErrNotFound) {
			return e, err
		}
		if text == "" {
			return e, errNoRequest
		}
	}
	clean, err := exampleText(text)
	if err != nil {
		return stores.IntentExample{}, err
	}
	return c.cfg.Intents.AddExample(r.Context(), scope, stores.IntentExample{Text: clean, Intent: name, Source: stores.SourceImport})
}

// exampleText is a message as it may be kept.
func exampleText(text string) (string, error) {
	clean, _ := policy.Redact(policy.Storable(strings.TrimSpace(text)))
	if !strings.ContainsFunc(clean, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return "", invalid("text", "holds no word to tell a message by")
	}
	if len(clean) <= exampleHead+exampleTail {
		return clean, nil
	}
	head, tail := exampleHead, len(clean)-exampleTail
	for !utf8.RuneStart(clean[head]) {
		head--
	}
	for !utf8.RuneStart(clean[tail]) {
		tail++
	}
	return clean[:head] + "\n…\n" + clean[tail:], nil
}

func (c *calls) listExamples(w http.ResponseWriter, r *request) error {
	limit, cursor, err := r.page()
	if err != nil {
		return err
	}
	examples, next, err := c.cfg.Intents.ListExamples(r.Context(), r.tenant, r.user, cursor, limit)
	if err != nil {
		return err
	}
	answer(w, http.StatusOK, struct {
		Examples []stores.IntentExample `json:"examples"`
		Next     string                 `json:"next_cursor"`
	}{list(examples), next})
	return nil
}

func (c *calls) deleteExample(w http.ResponseWriter, r *request) error {
	id, err := r.id()
	if err != nil {
		return err
	}
	if err := c.cfg.Intents.DeleteExample(r.Context(), r.tenant, r.user, id); err != nil {
		return err
	}
	answer(w, http.StatusOK, deletion{id, true})
	return nil
}

// trainingRow is an example as the classifier's training reads it.
type trainingRow struct {
	Lang   string `json:"lang"`
	Label  string `json:"label"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// exportExamples answers all examples, a row a line. They are gathered first:
// an answer that has begun cannot become an error.
func (c *calls) exportExamples(w http.ResponseWriter, r *request) error {
	var all []stores.IntentExample
	for cursor := ""; ; {
		examples, next, err := c.cfg.Intents.ListExamples(r.Context(), r.tenant, r.user, cursor, maxPage)
		if err != nil {
			return err
		}
		all = append(all, examples...)
		if cursor = next; next == "" {
			break
		}
	}
	w.Header().Set("Content-Type", "application/jsonl; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range slices.Backward(all) { // the oldest first
		_ = enc.Encode(trainingRow{languageOf(e.Text), strings.ToUpper(e.Intent), e.Text, stores.SourceFix}) // the client left
	}
	return nil
}

// languageOf is zh where Chinese characters are at least as many as words of
// other letters: 用 pandas 画图 is Chinese, “what does 谢谢 mean” is not.
func languageOf(text string) string {
	han, words, inWord := 0, 0, false
	for _, r := range text {
		letter := unicode.IsLetter(r) && !unicode.Is(unicode.Han, r)
		switch {
		case unicode.Is(unicode.Han, r):
			han++
		case letter && !inWord:
			words++
		}
		inWord = letter
	}
	if han > 0 && han >= words {
		return "zh"
	}
	return "en"
}
