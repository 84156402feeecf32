package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set at link time: -ldflags "-X strata/cli.version=1.2.3". Else
// it is what the go command has recorded.
var version = "dev"

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func buildVersion() versionInfo {
	v := versionInfo{Version: version, Commit: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if recorded := info.Main.Version; version == "dev" && recorded != "" && recorded != "(devel)" {
		v.Version = recorded
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "-modified"
		}
	}
	v.Commit += modified
	return v
}

func (p *program) versionCommand() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  strata version --json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion()
			if asJSON {
				return json.NewEncoder(p.stdout).Encode(v)
			}
			_, err := fmt.Fprintf(p.stdout, "strata %s (commit %s, %s, %s)\n", v.Version, v.Commit, v.Go, v.Platform)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as one JSON object")
	return cmd
}
