package cli

import (
	"os"

	"github.com/spf13/cobra"

	"strata/ingest"
)

// exitCode is the error of a command that has said all itself.
type exitCode int

func (e exitCode) Error() string { return "" }

// readDocumentCommand is the process that untrusted files are read in; serve
// starts it.
func (p *program) readDocumentCommand() *cobra.Command {
	return &cobra.Command{
		Use: ingest.WorkerCommand, Short: "Read a document for serve", Hidden: true, Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if code := ingest.Work(os.Stdin, p.stdout, p.env.getenv); code != 0 {
				return exitCode(code)
			}
			return nil
		},
	}
}
