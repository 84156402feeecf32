package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func (p *program) configCommand() *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Make, check and show the configuration",
		Example: `  strata config init
  strata config check --config /etc/strata/strata.yaml
  strata config show --origin`,
		Args: subcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	initialise := &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented strata.yaml with every key at its default",
		Example: `  strata config init
  strata config init -          # to standard output`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArguments(cmd, args[1:])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return p.configInit(args) },
	}
	check := &cobra.Command{
		Use:     "check",
		Short:   "Check file and variables; exit code 2 and one sentence when something is wrong",
		Example: "  strata config check --config strata.yaml",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return p.configCheck() },
	}
	origin := false
	show := &cobra.Command{
		Use:     "show",
		Short:   "Print every key with its value; secrets are masked",
		Example: "  strata config show --origin",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return p.configShow(origin) },
	}
	show.Flags().BoolVar(&origin, "origin", false, "also say where each value comes from")
	config.AddCommand(initialise, check, show)
	return config
}

func (p *program) configInit(args []string) error {
	path := "strata.yaml"
	if len(args) > 0 {
		path = args[0]
	}
	if path == "-" {
		return writeTemplate(p.stdout, p.env)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return usageError{fmt.Errorf("%s exists and is not overwritten; name another file, or - for standard output", path)}
	}
	if err != nil {
		return usageError{fmt.Errorf("%s cannot be written; name another file, or - for standard output", path)}
	}
	err = writeTemplate(f, p.env)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		fmt.Fprintf(p.stdout, "%s written; every key is at its default and commented out\n", path)
	}
	return err
}

// writeTemplate writes the documented keys, commented out, from the same
// struct that reads them.
func writeTemplate(w io.Writer, env environment) error {
	c := defaults(env.getenv)
	group := ""
	var b strings.Builder
	b.WriteString("# Strata. Each key is shown with its default; remove the # to change it.\n" +
		"# The same key as a variable: STRATA_UPSTREAM_BASE_URL for upstream.base_url.\n" +
		"# Secrets can come from files: upstream.api_key_file, STRATA_UPSTREAM_API_KEY_FILE.\n" +
		"# Sizes are in powers of 1024: 16KB and 16KiB are both 16384 bytes. Durations are\n# written like 300ms, 30s, 15m.\n")
	for _, s := range collectSettings(reflect.ValueOf(&c).Elem(), "") {
		name, indent := s.key, ""
		if g, rest, nested := strings.Cut(s.key, "."); nested {
			if g != group {
				fmt.Fprintf(&b, "\n%s:\n", g)
			}
			group, name, indent = g, rest, "  "
		} else {
			group = ""
			b.WriteString("\n")
		}
		value := s.show()
		if _, isModels := s.value.Interface().(Models); isModels {
			value = "{" + value + "}"
		} else if s.value.Kind() == reflect.Slice {
			value = "[" + value + "]"
		} else if value == "" || value == "off" || value == "on" {
			value = `"` + value + `"`
		}
		fmt.Fprintf(&b, "%s# %s\n%s# %s: %s\n", indent, s.doc, indent, name, value)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *program) configCheck() error {
	l, err := p.load()
	if err != nil {
		return err
	}
	p.warn(l)
	source := "defaults and variables; no file found"
	if l.file != "" {
		source = l.file
	}
	fmt.Fprintf(p.stdout, "OK (%s)\n", source)
	return nil
}

func (p *program) warn(l *loaded) {
	for _, w := range l.warnings {
		fmt.Fprintln(p.stderr, "strata: warning:", w)
	}
}

func (p *program) configShow(origin bool) error {
	l, err := p.load()
	if err != nil {
		return err
	}
	p.warn(l)
	w := tabwriter.NewWriter(p.stdout, 0, 4, 2, ' ', 0)
	for _, s := range l.settings {
		if origin {
			fmt.Fprintf(w, "%s\t%s\t%s\n", s.key, s.show(), s.origin)
		} else {
			fmt.Fprintf(w, "%s\t%s\n", s.key, s.show())
		}
	}
	return w.Flush()
}
