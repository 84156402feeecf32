//go:build unix

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// englishEmbedder starts the embedder for quality runs and returns its base
// URL.
func englishEmbedder(t testing.TB) string {
	t.Helper()
	const fix = "install Node.js 20 or later with npm"
	node, npm := tool(t, "node", fix), tool(t, "npm", fix)
	dir := install(t, recipe{
		name: "embedder", tool: node, fix: fix,
		pins: []string{"embedder/package.json", "embedder/package-lock.json"},
		steps: func(string) []*exec.Cmd {
			return []*exec.Cmd{exec.Command(npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts")}
		},
	})
	cmd := exec.Command(node, "embedder/server.mjs", "--port", "0", "--modules", dir)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the embedder did not start: %v\n%s", err, &said)
	}
	return strings.TrimSpace(line)
}

// The embedder that quality is measured with finds what means the same in
// English, and in Chinese at least what shares words.
func TestEnglishEmbedder(t *testing.T) {
	base := englishEmbedder(t)
	texts := []string{
		"How many days of annual leave do employees get?",
		"Staff are entitled to twenty vacation days per year.",
		"The printer on floor three is out of toner.",
		"员工每年有多少天年假？", "员工享有二十天带薪年假。", "三楼的打印机没有墨粉了。",
	}
	body, _ := json.Marshal(map[string]any{"model": "use-lite", "input": texts})
	resp, err := http.Post(base+"/embeddings", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Data []struct{ Embedding []float64 }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Data) != len(texts) {
		t.Fatalf("status %d, %d vectors, %v", resp.StatusCode, len(answer.Data), err)
	}
	cosine := func(i, j int) (sum float64) {
		for k, v := range answer.Data[i].Embedding {
			sum += v * answer.Data[j].Embedding[k]
		}
		return sum
	}
	for _, of := range []struct {
		language string
		first    int
		apart    float64
	}{{"English", 0, 0.3}, {"Chinese", 3, 0.05}} {
		like, unlike := cosine(of.first, of.first+1), cosine(of.first, of.first+2)
		if like < unlike+of.apart {
			t.Errorf("%s: what belongs together has %.3f, what does not %.3f", of.language, like, unlike)
		}
	}
}
