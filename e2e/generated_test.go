package e2e_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestGenerated lets three tenants with four users each do thousands of random
// things at the same time and checks every body that reaches upstream and
// every answer of the control plane against what it knows: who said what, in
// which order, and what was deleted or replaced when.
func TestGenerated(t *testing.T) {
	ops := 10_200
	if testing.Short() || raceDetector {
		ops = 1_500
	}
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("STRATA_SEED"), "20261130"), 10, 64)
	if err != nil {
		t.Fatal("STRATA_SEED: ", err)
	}
	w := &world{t: t, marks: map[string]*mark{}, seed: seed}
	w.r = newRig(t, w.answer)
	w.r.control(t, who{}, http.MethodGet, "/v1/stats", "", "") // reads the token, once
	var people sync.WaitGroup
	began := time.Now()
	for i := range len(tenants) * usersPerTenant {
		p := newPerson(w, i)
		people.Go(func() {
			for p.ops < ops/(len(tenants)*usersPerTenant) && w.violations.Load() < 10 {
				p.step()
			}
			p.settle()
			p.lookAround()
			p.askAll()
		})
	}
	people.Wait()
	w.r.flush(t)
	t.Logf("%d operations in %v: %d bodies at upstream and %d answers of the control plane checked; %d statements, %d asked back of which %d were served and %d came too late; %d forbidden things seen",
		w.ops.Load(), time.Since(began).Round(time.Millisecond), w.bodies.Load(), w.answers.Load(), w.statements.Load(), w.asked.Load(), w.served.Load(), w.tooLate.Load(), w.violations.Load())
	// What is late is left out, which a loaded machine may do now and then.
	if w.served.Load() < w.ops.Load()/20 || w.tooLate.Load() > w.asked.Load()/10 {
		t.Errorf("of %d facts that were asked back %d were served", w.asked.Load(), w.served.Load())
	}
}

var tenants = []string{"T1", "T2", "T3"}

const usersPerTenant = 4

// mark is a text that stands for one statement or one version of a document.
type mark struct {
	tenant, user string // user "" = a document
	group        string // that may see it, "" = all of the tenant
	// When it stopped being true: zero while it holds. replaced ones may stand
	// in earlier turns that say so, edited ones in earlier turns, deleted ones
	// nowhere.
	ended  time.Time
	ending ending
}

type ending int

const (
	replaced ending = iota + 1
	edited
	deleted
)

// world is what all people share.
type world struct {
	t    *testing.T
	r    *rig
	seed uint64

	mu    sync.Mutex
	marks map[string]*mark
	next  int

	ops, bodies, answers, statements, asked, served, tooLate, violations atomic.Int64
}

var generatedMark = regexp.MustCompile(`ZEBRA-1\d{5}`)

// answer is the model: every third answer repeats something of what it was
// given as true.
func (w *world) answer(req *upstreamRequest) *upstreamScript {
	w.bodies.Add(1)
	var given []string
	for line := range strings.SplitSeq(strings.Join(inserted.FindAllString(string(req.Body), -1), `\n`), `\n`) {
		if !strings.Contains(line, noLonger) && !strings.Contains(line, noLongerZH) {
			given = append(given, generatedMark.FindAllString(line, -1)...)
		}
	}
	if len(given) > 0 && len(req.Body)%3 == 0 {
		return said("You mean " + given[len(req.Body)%len(given)] + ".")
	}
	return said("OK.")
}

// mark makes a new one that holds from now on.
func (w *world) mark(tenant, user, group string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	name := fmt.Sprintf("ZEBRA-%d", 100_000+w.next)
	w.marks[name] = &mark{tenant: tenant, user: user, group: group}
	return name
}

// end notes that a mark does not hold any more, from now on.
func (w *world) end(name string, how ending) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.marks[name]; m != nil && how > m.ending {
		m.ended, m.ending = time.Now(), how
	}
}

func (w *world) forbidden(format string, args ...any) {
	if w.violations.Add(1) <= 5 {
		w.t.Errorf(format, args...)
	}
}

var spokenLine = regexp.MustCompile(`^(?:User|Assistant|用户|助手)`)

// checkText checks a text that the caller got. began is when the call was
// made. served says that the text is what the product serves as true now.
func (w *world) checkText(c who, groups []string, began time.Time, what, text string, served bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for line := range strings.SplitSeq(strings.ReplaceAll(text, `\n`, "\n"), "\n") {
		for _, name := range generatedMark.FindAllString(line, -1) {
			m := w.marks[name]
			switch {
			case m == nil:
				w.forbidden("%s: %s was never made: %s", what, name, line)
			case m.tenant != c.tenant:
				w.forbidden("%s for %s/%s: %s is of tenant %s: %s", what, c.tenant, c.user, name, m.tenant, text)
			case m.user != "" && c.user != "" && m.user != c.user:
				w.forbidden("%s for %s/%s: %s is of user %s: %s", what, c.tenant, c.user, name, m.user, text)
			case m.group != "" && c.user != "" && served && !slices.Contains(groups, m.group):
				w.forbidden("%s for %s/%s in %v: %s is for group %s: %s", what, c.tenant, c.user, groups, name, m.group, text)
			case !served || m.ending == 0 || !m.ended.Before(began):
			case m.ending == replaced && (strings.Contains(line, noLonger) || strings.Contains(line, noLongerZH)):
			case m.ending == edited && spokenLine.MatchString(line):
			default:
				w.forbidden("%s for %s/%s: %s ended (%d) %v before the call: %s", what, c.tenant, c.user, name, m.ending, began.Sub(m.ended), text)
			}
		}
	}
}

// person is one user, whose operations follow one another.
type person struct {
	*world
	rand   *rand.Rand
	who    who
	groups []string
	ops    int

	facts   map[string]*fact // by topic, or by marker in sets
	pending []string         // marks that end with the next settle
	last    statementAt      // what was said last
	docs    [3]*doc
}

// fact is what holds for a person now.
type fact struct {
	say      *saying
	zh       bool
	mark     string
	sessions map[string]bool // in which it was said; empty = by the admin
	settled  bool            // learned, for certain
}

type statementAt struct{ session, words, request string }

// doc is one document that this person looks after.
type doc struct {
	id, mark, group string
	version         int
	old             []string // marks of earlier versions
}

// saying is a way to state, ask for and forget something; [0] is English, [1]
// Chinese.
type saying struct {
	topic            string // "" = a set
	say, ask, forget [2]string
}

var sayings = []saying{
	{"project_code", [2]string{"My project code is %s.", "我的项目代号是%s。"}, [2]string{"What is my project code?", "我的项目代号是什么？"}, [2]string{"Forget my project code.", "忘掉我的项目代号"}},
	{"office", [2]string{"My office is in %s.", "我的办公室在%s。"}, [2]string{"Where is my office?", "我的办公室在哪？"}, [2]string{"Please forget my office.", "忘掉我的办公室"}},
	{"locker_code", [2]string{"Remember: my locker code is %s", "请记住：我的储物柜号是%s"}, [2]string{"What is my locker code?", "我的储物柜号是多少？"}, [2]string{"Forget my locker code", "忘掉我的储物柜号"}},
	{"parking_spot", [2]string{"My parking spot is %s.", "我的车位是%s。"}, [2]string{"Which parking spot is mine, what is my parking spot?", "我的车位是哪个？"}, [2]string{"Forget my parking spot.", "忘掉我的车位"}},
	{"", [2]string{"I like %s tea.", "我喜欢%s茶。"}, [2]string{"Is it %s tea that I like?", "我喜欢%s茶吗？"}, [2]string{"Forget that I like %s tea.", "忘掉我喜欢%s茶"}},
	{"", [2]string{"Remember: the door of hall %s is blue", "请记住：%s号厅的门是蓝色的"}, [2]string{"What colour is the door of hall %s?", "%s号厅的门是什么颜色？"}, [2]string{"Forget that the door of hall %s is blue.", "忘掉%s号厅的门是蓝色的"}},
}

// filled puts the mark into one of a saying's texts.
func filled(text, mark string) string { return strings.ReplaceAll(text, "%s", mark) }

func lang(zh bool) int {
	if zh {
		return 1
	}
	return 0
}

func newPerson(w *world, i int) *person {
	p := &person{world: w, rand: rand.New(rand.NewPCG(w.seed, uint64(i))), facts: map[string]*fact{}}
	// The same names in every tenant.
	p.who = who{tenant: tenants[i/usersPerTenant], user: []string{"anna", "bela", "小李", "o'neil 4"}[i%usersPerTenant]}
	p.groups = [][]string{{"alpha"}, {"alpha", "beta"}, {"beta"}, nil}[i%usersPerTenant]
	if p.groups != nil {
		p.who.header = http.Header{"X-Strata-Groups": {strings.Join(p.groups, ",")}}
	}
	for d := range p.docs {
		p.docs[d] = &doc{id: fmt.Sprintf("guide-%d-%d", i, d)}
	}
	return p
}

func (p *person) chance(of float64) bool { return p.rand.Float64() < of }

func (p *person) session() string { return fmt.Sprint("S", p.rand.IntN(3)) }

func (p *person) count() {
	p.ops++
	p.world.ops.Add(1)
}

func (p *person) step() {
	switch n := p.rand.IntN(100); {
	case n < 24:
		p.state()
	case n < 46:
		p.ask()
	case n < 52:
		p.chatter()
	case n < 56:
		p.forget()
	case n < 64:
		p.adminMemory()
	case n < 76:
		p.document()
	case n < 84:
		p.askDocument()
	case n < 96:
		p.lookAround()
	case n < 99:
		p.deleteSession()
	case p.chance(0.4):
		p.erase()
	}
}
