package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"strata/internal/weaviateserver"

	// Nothing of it is used: a change of the program must make the results that
	// the go command keeps of these tests void.
	_ "strata/cli"
)

// build names the binary under test; TestMain makes it once.
var build struct {
	binary string
	err    error // why there is none
}

// sharedWeaviate is the server of all tests that leave it as it is.
var sharedWeaviate weaviateserver.Shared

func TestMain(m *testing.M) {
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "strata-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	defer sharedWeaviate.Close()
	build.binary = filepath.Join(dir, "strata")
	build.err = compile(build.binary, "CGO_ENABLED=0")
	return m.Run()
}

// compile builds the module's program into out with env and args added to the
// usual ones. The error holds what the compiler said.
func compile(out, env string, args ...string) error {
	args = append([]string{"build", "-o", out}, args...)
	cmd := exec.Command("go", append(args, "strata")...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), env)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build strata: %w\n%s", err, said)
	}
	return nil
}
