package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is who may know whom. A package missing here fails the test.
var mayImport = map[string][]string{
	".": {"cli"},
	"cli": {"admin", "assemble", "chat", "ingest", "ingest/compare", "ingest/watch", "intent", "learn", "learn/judge", "llm", "policy", "proxy", "stores", "stores/cached", "stores/ledger", "stores/textindex", "stores/weaviate",
		"internal/demo", "internal/eval", "internal/eval/intenteval", "internal/tokens"},
	"proxy":    {"assemble", "chat", "intent", "learn", "policy", "stores", "internal/hostcheck", "internal/ids"},
	"admin":    {"ingest", "intent", "policy", "stores", "internal/hostcheck", "internal/ids", "internal/tokens"},
	"assemble": {"intent", "policy", "stores", "internal/terms", "internal/tokens"},
	"learn":    {"policy", "stores", "internal/ids", "internal/prefilter", "internal/terms"},
	"ingest":   {"policy", "stores", "ingest/extract", "internal/pace", "internal/tokens"},
	"llm":      {},
	"policy":   {"chat", "intent", "stores", "internal/prefilter", "internal/terms"},
	"intent":   {},
	"chat":     {},

	"ingest/compare":    {},
	"ingest/watch":      {},
	"ingest/extract":    {},
	"learn/judge":       {"intent", "policy", "stores"},
	"stores":            {},
	"stores/cached":     {"stores"},
	"stores/ledger":     {"stores", "internal/ids"},
	"stores/textindex":  {"stores", "internal/lexical", "internal/pace"},
	"stores/weaviate":   {"stores", "internal/lexical"},
	"stores/storestest": {"stores"},

	"internal/demo":               {"internal/terms"},
	"admin/admintest":             {"admin", "ingest", "stores"},
	"internal/eval":               {"stores"},
	"internal/eval/intenteval":    {"intent"},
	"intent/train":                {"intent", "internal/eval/intenteval"},
	"internal/eval/memoryeval":    {"learn", "policy", "stores"},
	"internal/ids":                {},
	"internal/lexical":            {"internal/terms"},
	"internal/pace":               {},
	"internal/prefilter":          {},
	"internal/terms":              {},
	"internal/tokens":             {},
	"internal/hostcheck":          {},
	"internal/upstreamtest":       {},
	"internal/weaviateserver":     {},
	"internal/weaviateserver/run": {"internal/weaviateserver"},
	"internal/bench":              {"internal/upstreamtest"},
	"e2e":                         {},
}

// doors are the packages that may know a library.
var doors = map[string][]string{
	"github.com/valyala/fasthttp":            {"proxy", "internal/bench"},
	"github.com/sashabaranov/go-openai":      {"llm"},
	"github.com/dgraph-io/ristretto":         {"stores/cached"},
	"github.com/weaviate/weaviate-go-client": {"stores/weaviate"},
	"github.com/weaviate/weaviate":           {"stores/weaviate"},
	"github.com/go-openapi/strfmt":           {"stores/weaviate"},
	"modernc.org/sqlite":                     {"stores/ledger", "stores/textindex"},
	"github.com/jackc/pgx":                   {"stores/ledger", "stores/textindex"},
	"github.com/spf13/cobra":                 {"cli"},
	"github.com/mattn/go-isatty":             {"cli"},
	"github.com/goccy/go-yaml":               {"cli", "ingest"},
	"github.com/fsnotify/fsnotify":           {"ingest/watch"},
	"github.com/rogpeppe/go-internal":        {"ingest/compare"},
	"github.com/prometheus/client_golang":    {"cli", "proxy", "admin"},
	"github.com/agnivade/levenshtein":        {"cli"},
	"github.com/andybalholm/brotli":          {"chat"},
	"github.com/klauspost/compress":          {"chat"},
	"golang.org/x/net":                       {"proxy", "ingest/extract"},
	"github.com/pressly/goose":               {"stores/ledger", "stores/textindex"},
	"github.com/tiktoken-go/tokenizer":       {"internal/tokens"},
	"github.com/yuin/goldmark":               {"ingest"},
	"golang.org/x/text":                      {"cli", "ingest", "ingest/extract", "internal/terms"},
	"github.com/JohannesKaufmann":            {"ingest/extract"},
	"github.com/xuri/excelize":               {"ingest/extract"},
	"github.com/ledongthuc/pdf":              {"ingest/extract"},
}

var vagueNames = []string{"utils", "util", "common", "helpers", "helper", "manager", "types", "service", "misc"}

func TestImports(t *testing.T) {
	documented := map[string]bool{}
	for file, pkg := range sources(t) {
		dir := filepath.ToSlash(filepath.Dir(file))
		allowed, listed := mayImport[dir]
		if !listed {
			t.Errorf("%s: package %s is not in the import table", file, dir)
			continue
		}
		documented[dir] = documented[dir] || pkg.Doc != nil
		if slices.Contains(vagueNames, path.Base(dir)) || slices.Contains(vagueNames, pkg.Name.Name) {
			t.Errorf("%s: the package's name does not say what it is about", dir)
		}
		for _, spec := range pkg.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := strings.CutPrefix(name, "strata/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s: %s may not import %s", file, dir, ours)
			}
			for library, where := range doors {
				if (name == library || strings.HasPrefix(name, library+"/")) && !slices.Contains(where, dir) {
					t.Errorf("%s: %s may be imported by %v only", file, library, where)
				}
			}
		}
		for _, decl := range pkg.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: an init function", file)
			}
		}
	}
	for dir := range mayImport {
		if !documented[dir] {
			t.Errorf("%s: no package comment (or no such package)", dir)
		}
	}
}

// sources parses every hand-written file that is not a test.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	out := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "tmp") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, b, parser.ParseComments)
		out[file] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
