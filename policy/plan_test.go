package policy_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"strata/intent"
	"strata/policy"
)

func layersOf(p policy.Plan) string {
	var names []string
	for _, l := range p.Layers {
		names = append(names, string(l.Layer))
	}
	return strings.Join(names, " ")
}

func TestDefaultTable(t *testing.T) {
	table := policy.DefaultTable()
	c := policy.Caller{Tenant: "T1", User: "U1", Private: true, Mode: policy.On, Stage: policy.Recall}
	tests := []struct {
		verdict  intent.Verdict
		budget   int
		deadline time.Duration
		floor    float64
		layers   string
	}{
		{intent.Verdict{Intent: intent.Chat}, 800, 50 * time.Millisecond, 0, "memory summary recent"},
		{intent.Verdict{Intent: intent.RAG}, 2500, 150 * time.Millisecond, 0.28, "knowledge memory summary recent"},
		{intent.Verdict{Intent: intent.RAG, Stage: "probe"}, 2500, 150 * time.Millisecond, 0.45, "knowledge memory summary recent"},
		{intent.Verdict{Intent: intent.Data}, 1500, 100 * time.Millisecond, 0, "state tool memory summary recent"},
		{intent.Verdict{Intent: "poem"}, 800, 50 * time.Millisecond, 0, "memory summary recent"},
	}
	for _, tt := range tests {
		p := table.PlanFor(c, tt.verdict)
		if p.Budget != tt.budget || p.Deadline != tt.deadline || p.Floor != tt.floor || layersOf(p) != tt.layers || p.Strict != (tt.verdict.Stage == "probe") {
			t.Errorf("%+v: %+v", tt.verdict, p)
		}
	}
	for in, row := range table {
		sum := 0.0
		for _, l := range row.Layers {
			sum += l.Share
			if l.Items <= 0 || l.Layer == policy.LayerKnowledge && l.Share < 0.7 {
				t.Errorf("%s: %+v", in, l)
			}
		}
		if sum > 1.0001 {
			t.Errorf("%s: shares of %v", in, sum)
		}
	}
	if p := table.WithRemoteEmbedder().PlanFor(c, intent.Verdict{Intent: intent.RAG}); p.Deadline != 400*time.Millisecond {
		t.Errorf("remote: %s", p.Deadline)
	}
}

func TestPlanDeeds(t *testing.T) {
	base := policy.Caller{Tenant: "T1", User: "U1", Private: true, Mode: policy.On, Stage: policy.Recall}
	with := func(change func(*policy.Caller)) policy.Caller {
		c := base
		change(&c)
		return c
	}
	mode := func(m policy.Mode) policy.Caller { return with(func(c *policy.Caller) { c.Mode = m }) }
	stage := func(s policy.Stage) policy.Caller { return with(func(c *policy.Caller) { c.Stage = s }) }
	all := "knowledge memory summary recent"
	tests := []struct {
		name   string
		c      policy.Caller
		deeds  string // Read Inject Record Learn
		layers string
	}{
		{"on", base, "RIEL", all},
		{"observe", mode(policy.Observe), "R.E.", all},
		{"read-only", mode(policy.ReadOnly), "RI..", all},
		{"write-only", mode(policy.WriteOnly), "..EL", ""},
		{"off", mode(policy.Off), "....", ""},
		{"no mode", mode(""), "....", ""},
		{"route", stage(policy.Route), "....", ""},
		{"summary", stage(policy.Summary), "..E.", ""},
		{"write", stage(policy.Write), "..EL", ""},
		{"observe at stage write", with(func(c *policy.Caller) { c.Stage, c.Mode = policy.Write, policy.Observe }), "..E.", ""},
		{"helper", with(func(c *policy.Caller) { c.Task = "title" }), "....", ""},
		{"temporary chat", with(func(c *policy.Caller) { c.NoLearn = true }), "RI..", all},
		{"channel", with(func(c *policy.Caller) { c.NoLearn, c.Private = true, false }), "RI..", "knowledge"},
		{"no user", with(func(c *policy.Caller) { c.User, c.Private = "", false }), "RI..", "knowledge"},
		{"no user, private all the same", with(func(c *policy.Caller) { c.User = "" }), "RI..", "knowledge"},
		{"no tenant", with(func(c *policy.Caller) { c.Tenant = "" }), "....", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := policy.DefaultTable().PlanFor(tt.c, intent.Verdict{Intent: intent.RAG})
			got := ""
			for i, done := range [...]bool{p.Read, p.Inject, p.Record, p.Learn} {
				got += map[bool]string{true: "RIEL"[i : i+1], false: "."}[done]
			}
			if got != tt.deeds || layersOf(p) != tt.layers {
				t.Errorf("%s %q, want %s %q", got, layersOf(p), tt.deeds, tt.layers)
			}
		})
	}
	inChannel := with(func(c *policy.Caller) { c.Private = false })
	if p := policy.DefaultTable().PlanFor(inChannel, intent.Verdict{Intent: intent.Data}); layersOf(p) != "state tool" {
		t.Errorf("data in a channel: %q", layersOf(p))
	}
}

func TestTableWith(t *testing.T) {
	base := policy.DefaultTable()
	got, err := base.With(map[intent.Intent]policy.RowChange{
		intent.RAG:  {Budget: 4000, Deadline: 300 * time.Millisecond, Items: map[policy.Layer]int{policy.LayerKnowledge: 9, policy.LayerSummary: 0}},
		intent.Chat: {Budget: 400},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := policy.Caller{Tenant: "T1", User: "U1", Private: true, Mode: policy.On, Stage: policy.Recall}
	p := got.WithRemoteEmbedder().PlanFor(c, intent.Verdict{Intent: intent.RAG})
	if p.Budget != 4000 || p.Deadline != 300*time.Millisecond || layersOf(p) != "knowledge memory recent" || p.Layers[0].Items != 9 {
		t.Errorf("%+v", p)
	}
	if !reflect.DeepEqual(base, policy.DefaultTable()) {
		t.Error("the table it was made from has changed")
	}
	for key, change := range map[string]map[intent.Intent]policy.RowChange{
		"plan.rag.budget":        {intent.RAG: {Budget: -1}},
		"plan.data.deadline":     {intent.Data: {Deadline: time.Minute}},
		"plan.chat.items.tool":   {intent.Chat: {Items: map[policy.Layer]int{policy.LayerTool: 3}}},
		"plan.chat.items.memory": {intent.Chat: {Items: map[policy.Layer]int{policy.LayerMemory: -3}}},
		"plan.poem":              {"poem": {Budget: 3}},
	} {
		if _, err := base.With(change); err == nil || !strings.HasPrefix(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestRoom(t *testing.T) {
	for _, tt := range [...]struct{ window, estimate, maxTokens, want int }{
		{0, 10, 10, -1},
		{8192, 1000, 1000, 6192},
		{8192, 1000, 0, 7192},
		{8192, 8000, 92, 100},
		{8192, 8000, 93, 0},
		{8192, 9000, 0, 0},
		{8192, 10, 1 << 62, 0},
		{8192, -5, -5, 8192},
	} {
		if got := policy.Room(tt.window, tt.estimate, tt.maxTokens); got != tt.want {
			t.Errorf("Room(%d, %d, %d) = %d, want %d", tt.window, tt.estimate, tt.maxTokens, got, tt.want)
		}
	}
}
