// Command bench prints the performance table of the README: what Strata costs
// per request, per stream and per chunk next to a forwarder that does nothing
// else, and how much memory it takes. It decides what is measured and which
// figure is aimed at; it must not know how Strata works inside: it builds the
// program, starts it and talks to it over sockets like any app.
//
// CPU time is that of the proxy's process, read around each run. Runs of the
// two proxies alternate, and a ratio is taken within each pair, so that a
// machine that is slow for a while slows both. A missed aim is printed and is
// no failure: timings on shared machines must not break a build.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

// Hidden first arguments with which the program starts itself again.
const (
	roleUpstream = "role:upstream"
	roleBare     = "role:bare"
)

type settings struct {
	quick  bool
	json   bool
	only   string // name of one case, "" for all
	binary string // built program, "" to build it
}

func main() {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "role:") {
		exitOn(serveRole(os.Args[1], os.Args[2:]))
		return
	}
	// Children are told to die with the thread that starts them, which is this
	// one: it must be the one that lasts as long as the process.
	runtime.LockOSThread()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	set, err := readFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, set, os.Stdout)
	}
	exitOn(err)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func readFlags(args []string) (settings, error) {
	var set settings
	names := make([]string, 0, len(cases))
	for _, c := range cases {
		names = append(names, c.name)
	}
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.BoolVar(&set.quick, "quick", false, "short runs, about a minute in all; the figures are rough")
	fs.BoolVar(&set.json, "json", false, "print one JSON object in place of the table")
	fs.StringVar(&set.only, "only", "", "run one case: "+strings.Join(names, ", "))
	fs.StringVar(&set.binary, "strata", "", "measure this `program` in place of building the checkout")
	if err := fs.Parse(args); err != nil {
		return set, err
	}
	if set.only != "" && !slices.Contains(names, set.only) {
		return set, fmt.Errorf("-only %s: there is %s", set.only, strings.Join(names, ", "))
	}
	if fs.NArg() > 0 {
		return set, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	return set, nil
}

// run measures the chosen cases and prints them. It fails only when something
// cannot be started or answers wrongly.
func run(ctx context.Context, set settings, out io.Writer) error {
	b, err := startBench(ctx, set)
	if err != nil {
		return err
	}
	defer b.close()
	rep := report{Machine: thisMachine(), Quick: set.quick}
	for _, c := range cases {
		if set.only != "" && set.only != c.name {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", c.name)
		rows, err := c.run(b)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		rep.Rows = append(rep.Rows, rows...)
	}
	if set.json {
		return rep.writeJSON(out)
	}
	return rep.writeMarkdown(out)
}

// cases are run in this order.
var cases = []struct {
	name string
	run  func(*bench) ([]row, error)
}{
	{"pass", runPassThrough},
	{"walk", runWalk},
	{"recall", runRecall},
	{"learn", runLearn},
	{"streams", runStreams},
	{"latency", runLatency},
	{"rag", runRAG},
	{"corpus", runLargeCorpus},
	{"ingest", runIngest},
	{"opening", runOpening},
	{"memory", runMemory},
}
