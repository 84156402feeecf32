// Package cli is the command line: it reads the configuration, builds
// everything from it and takes it down again in order. It decides what is
// wired to what; it must not know how any part does its work.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// Exit codes.
const (
	exitOK      = 0
	exitFailure = 1 // something went wrong while running
	exitUsage   = 2 // wrong use or configuration; the message names the fix
)

// usageError is a mistake of whoever called.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// program holds what commands share.
type program struct {
	env    environment
	config string // --config
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// Main runs one command and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{env: environment{getenv: os.Getenv, environ: os.Environ}, stdin: stdin, stdout: stdout, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	if code, ok := errors.AsType[exitCode](err); ok {
		return int(code)
	}
	fmt.Fprintln(stderr, "strata:", err)
	var usage usageError
	if errors.As(err, &usage) || !started {
		return exitUsage
	}
	return exitFailure
}

func (p *program) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "strata",
		Short: "A sidecar proxy in front of LLM calls",
		Long: `Strata is an OpenAI-compatible sidecar proxy in front of LLM calls. Start it
and change one thing in your app, its OpenAI base URL.`,
		Example: `  strata demo
  strata serve
  OPENAI_BASE_URL=http://127.0.0.1:4470/v1 python app.py`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          subcommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())}
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.PersistentFlags().StringVar(&p.config, "config", "", "configuration file (default: ./strata.yaml, then the user's, then /etc/strata/strata.yaml)")
	root.AddCommand(p.demoCommand(), p.serveCommand())
	root.AddCommand(p.controlCommands()...)
	root.AddCommand(p.indexCommand(), p.evalCommand(), p.configCommand(), p.versionCommand(), p.healthcheckCommand(), p.readDocumentCommand())
	return root
}

// subcommand refuses the arguments of a command that only holds others.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return usageError{fmt.Errorf("there is no command %q; `%s` has %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))}
}

// noArguments refuses the arguments of a command that takes only flags.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageError{fmt.Errorf("%q is not expected; `%s` takes flags only", args[0], cmd.CommandPath())}
}

// load reads the configuration, with the keys given as flags.
func (p *program) load(flags ...flagValue) (*loaded, error) {
	l, err := load(p.config, flags, p.env)
	if err != nil {
		return nil, usageError{err}
	}
	return l, nil
}
