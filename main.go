// Command strata is a sidecar proxy in front of LLM calls.
package main

import (
	"os"

	"strata/cli"
)

func main() {
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
