package e2e_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// judged is a set of questions with what answers them.
type judged struct {
	name    string
	lang    string
	floor   float64 // recall in the first five of BM25 over the whole set
	entries []entry
	asked   []judgedQuestion
	foreign []string // everyday questions that nothing in it answers
}

type entry struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

type judgedQuestion struct {
	ID   string `json:"_id"`
	Text string `json:"text"`
	gold []string
}

// askedOfEach is how many questions of a set are asked, spread over all of it.
const askedOfEach = 50

// Documents that were put through the control plane answer plain chats: what
// reaches upstream holds at least as many of the passages that were judged
// right as a search with BM25 would find.
func TestRetrievalReachesUpstream(t *testing.T) {
	dir := os.Getenv("STRATA_EVAL")
	if dir == "" {
		t.Skip("STRATA_EVAL names no evaluation data")
	}
	r := newRig(t, nil)
	for _, set := range []judged{
		{name: "stard_civil", lang: "zh", floor: 0.571, foreign: everydayZH},
		{name: "obliqa_dev", lang: "en", floor: 0.696, foreign: everydayEN},
	} {
		t.Run(set.name, func(t *testing.T) {
			set.load(t, filepath.Join(dir, "retrieval", set.name))
			r.putAll(t, set)
			set.prove(t, r)
		})
	}
}

// load reads the set and keeps some of its questions.
func (s *judged) load(t testing.TB, dir string) {
	t.Helper()
	s.entries = readRows[entry](t, filepath.Join(dir, "corpus.jsonl"))
	gold := map[string][]string{}
	type judgement struct {
		Query string  `json:"query_id"`
		Doc   string  `json:"doc_id"`
		Score float64 `json:"score"`
	}
	for _, j := range readRows[judgement](t, filepath.Join(dir, "qrels.jsonl")) {
		if j.Score > 0 {
			gold[j.Query] = append(gold[j.Query], j.Doc)
		}
	}
	all := readRows[judgedQuestion](t, filepath.Join(dir, "queries.jsonl"))
	all = slices.DeleteFunc(all, func(q judgedQuestion) bool { return len(gold[q.ID]) == 0 })
	n := askedOfEach
	if text := os.Getenv("STRATA_EVAL_QUESTIONS"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	n = min(n, len(all))
	for i := range n {
		q := all[i*len(all)/n]
		q.gold = gold[q.ID]
		s.asked = append(s.asked, q)
	}
}

func readRows[T any](t testing.TB, file string) (rows []T) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for d := json.NewDecoder(f); ; {
		var row T
		if err := d.Decode(&row); errors.Is(err, io.EOF) {
			return rows
		} else if err != nil {
			t.Fatal(file, err)
		}
		rows = append(rows, row)
	}
}

// reader asks of the set's own tenant.
func (s *judged) reader() who { return who{tenant: s.name, user: "reader"} }

// putAll makes a document of each entry.
func (r *rig) putAll(t testing.TB, s judged) {
	t.Helper()
	r.control(t, who{tenant: s.name}, http.MethodGet, "/v1/documents", "", "") // reads the token, once
	began := time.Now()
	var wg sync.WaitGroup
	work := make(chan entry)
	for range 8 {
		wg.Go(func() {
			for e := range work {
				path := "/v1/documents/" + url.PathEscape(e.ID) + "?title=" + url.QueryEscape(e.Title)
				if status, said := r.control(t, who{tenant: s.name}, http.MethodPut, path, "text/plain", e.Text); status != http.StatusOK {
					t.Errorf("%s: %d %s", e.ID, status, said)
				}
			}
		})
	}
	for _, e := range s.entries {
		work <- e
	}
	close(work)
	wg.Wait()
	t.Logf("%s: %d documents put in %.1f s", s.name, len(s.entries), time.Since(began).Seconds())
}

// usedFacts is what GET /v1/receipts tells.
type usedFacts struct {
	Intent string `json:"intent"`
	Stage  string `json:"stage"`
	Rule   string `json:"rule"`
	Layers []struct {
		Name string   `json:"name"`
		IDs  []string `json:"ids"`
	} `json:"layers"`
	Skipped []struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
		ID     string `json:"id"`
	} `json:"skipped"`
	Tokens int     `json:"block_tokens"`
	Millis float64 `json:"ms"`
}

func (r *rig) receiptOf(t testing.TB, w who, a reply) (got usedFacts) {
	t.Helper()
	r.must(t, w, http.MethodGet, "/v1/receipts/"+a.header.Get("X-Strata-Request-Id"), "", "", &got)
	return got
}

func (c usedFacts) facts() []string {
	for _, l := range c.Layers {
		if l.Name == "knowledge" {
			return l.IDs
		}
	}
	return nil
}

// passagesOf are the ids of a document's passages.
func (r *rig) passagesOf(t testing.TB, tenant, id string) (ids []string) {
	t.Helper()
	var d struct {
		Passages []struct {
			ID string `json:"id"`
		} `json:"passages"`
	}
	r.must(t, who{tenant: tenant}, http.MethodGet, "/v1/documents/"+url.PathEscape(id), "", "", &d)
	for _, p := range d.Passages {
		ids = append(ids, p.ID)
	}
	return ids
}

// prove asks the questions and holds what went upstream against the judgement.
func (s *judged) prove(t *testing.T, r *rig) {
	var recall float64
	var tokens []int
	var added []float64
	var plain []float64
	hits := 0
	kinds, lost := map[string]int{}, map[string]int{}
	for _, q := range s.asked {
		off := r.ask(t, who{tenant: s.name, header: http.Header{"X-Strata-Mode": {"off"}}}, user(q.Text))
		plain = append(plain, ms(off.took))
		a := r.ask(t, s.reader(), user(q.Text))
		a.wantOK(t)
		added = append(added, ms(a.took))
		c := r.receiptOf(t, s.reader(), a)
		kinds[c.Intent+"/"+c.Stage]++
		tokens = append(tokens, c.Tokens)
		got, facts := 0, c.facts()
		for _, id := range q.gold {
			parts := r.passagesOf(t, s.name, id)
			if slices.ContainsFunc(parts, func(p string) bool { return slices.Contains(facts, p) }) {
				got++
			} else {
				lost[c.lostTo(parts)]++
			}
		}
		recall += float64(got) / float64(len(q.gold))
		if got > 0 {
			hits++
		}
		if c.Intent != "rag" {
			t.Logf("%s: not RAG but %s/%s %s: %s", s.name, c.Intent, c.Stage, c.Rule, q.Text)
		}
	}
	recall /= float64(len(s.asked))
	base := median(plain)
	for i := range added {
		added[i] -= base
	}
	slices.Sort(added)
	slices.Sort(tokens)
	t.Logf("%s: %d questions; recall in the block %.3f (floor %.3f); a right passage is in %d; gold passages lost to %v", s.name, len(s.asked), recall, s.floor, hits, lost)
	t.Logf("%s: intents %v; block tokens p50 %d, p95 %d; added p50 %.2f ms, p95 %.2f ms", s.name, kinds, tokens[len(tokens)/2], tokens[len(tokens)*95/100],
		added[len(added)/2], added[len(added)*95/100])
	if recall < s.floor {
		t.Errorf("%s: recall %.3f, want at least %.3f", s.name, recall, s.floor)
	}
	s.askForeign(t, r)
}

// lostTo says why none of these passages is in the block.
func (c usedFacts) lostTo(parts []string) string {
	if c.facts() == nil && c.Intent != "rag" {
		return "intent " + c.Intent
	}
	for _, k := range c.Skipped {
		if k.ID != "" && slices.Contains(parts, k.ID) {
			return k.Reason
		}
		if k.ID == "" && k.Name == "knowledge" {
			return "layer " + k.Reason
		}
	}
	return "rank or floor"
}

// askForeign asks what the documents do not answer: the fewer get passages,
// the better.
func (s *judged) askForeign(t *testing.T, r *rig) {
	kinds, with, all := map[string]int{}, map[string]int{}, 0
	for _, text := range s.foreign {
		c := r.receiptOf(t, s.reader(), r.ask(t, s.reader(), user(text)))
		kinds[c.Intent+"/"+c.Stage]++
		if n := len(c.facts()); n > 0 {
			with[c.Intent+"/"+c.Stage]++
			all += n
			t.Logf("%s: %d foreign passages for %s (%s/%s)", s.name, n, text, c.Intent, c.Stage)
		}
	}
	t.Logf("%s: %d everyday questions: intents %v; with passages %v, %d passages in all", s.name, len(s.foreign), kinds, with, all)
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// everydayZH and everydayEN are asked at any desk and have no answer in law
// books or rule books.
var (
	everydayZH = []string{
		"帮我写一段周五团建的邀请文案，轻松一点。", "怎么把Excel里两列姓名合并成一列？", "解释一下什么是向量数据库。", "推荐三本适合新手经理的书。",
		"明天去杭州出差，需要带些什么？", "把这句话翻译成英文：我们下周三之前给您答复。", "Python里怎么读取一个很大的CSV文件？", "为什么天空是蓝色的？",
		"给产品经理写一封感谢邮件。", "会议室投影仪连不上电脑怎么办？", "公司的年会定在哪一天？", "我们的打卡系统几点算迟到？", "报销餐费的上限是多少？",
		"新员工的试用期导师是谁安排的？", "食堂几点开门？", "班车的末班是几点？", "番茄炒蛋怎么做才嫩？", "如何在一个月内学会打羽毛球？", "用一句话介绍量子计算。",
		"写一个关于秋天的五言绝句。", "机器学习和深度学习有什么区别？", "怎样缓解长时间坐着的腰酸？", "帮我给新项目起三个名字。", "周报应该写哪些内容？", "VPN账号忘了密码找谁重置？",
	}
	everydayEN = []string{
		"Write a short invitation for our Friday team lunch.", "How do I merge two columns of names in Excel?", "Explain what a vector database is.",
		"Recommend three books for a new manager.", "What should I pack for a two day trip to Berlin?", "Translate into German: we will answer by next Wednesday.",
		"How do I read a very large CSV file in Python?", "Why is the sky blue?", "Write a thank-you mail to our product manager.", "The projector does not find my laptop, what can I do?",
		"On which day is the company party?", "What time does the canteen open?", "How much may I spend on dinner when I travel?", "Who assigns a mentor to new hires?",
		"When does the last shuttle bus leave?", "How do I cook scrambled eggs that stay soft?", "How can I learn badminton within a month?", "Describe quantum computing in one sentence.",
		"Write a haiku about autumn.", "What is the difference between machine learning and deep learning?", "What helps against back pain from sitting all day?",
		"Suggest three names for our new project.", "What belongs into a weekly report?", "I forgot my VPN password, who resets it?", "How many days of annual leave do I have left?",
	}
)
