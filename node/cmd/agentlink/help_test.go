package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the goldens anew")

// TestHelp compares the help of every command with the golden.
func TestHelp(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	for _, command := range commands(t) {
		fmt.Fprintf(&all, "$ %s --help\n%s\n", command.CommandPath(), help(t, command))
	}
	golden := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(golden, all.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), all.String()); diff != "" {
		t.Errorf("help differs from %s (write it with -update):\n%s", golden, diff)
	}
}

// TestHelpIsComplete: each command says in a line what it is for, each that does
// something shows an example of itself, and no line is too wide for a terminal.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()
	for _, command := range commands(t) {
		path := command.CommandPath()
		if command.Short == "" {
			t.Errorf("%s says nothing of itself", path)
		}
		if !command.HasSubCommands() && !strings.Contains(command.Example, path) {
			t.Errorf("%s has no example of itself", path)
		}
		for line := range strings.SplitSeq(command.Long+"\n"+command.Example, "\n") {
			if len([]rune(line)) > 110 {
				t.Errorf("%s: this line is too wide: %s", path, line)
			}
		}
	}
}

// commands are all that a person can call, the root first.
func commands(t *testing.T) []*cobra.Command {
	t.Helper()
	var all []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(command *cobra.Command) {
		all = append(all, command)
		for _, child := range command.Commands() {
			if child.IsAvailableCommand() {
				walk(child)
			}
		}
	}
	walk((&cli{}).root())
	if len(all) < 30 {
		t.Fatalf("only %d commands", len(all))
	}
	return all
}

func help(t *testing.T, command *cobra.Command) string {
	t.Helper()
	arguments := append(strings.Fields(command.CommandPath())[1:], "--help")
	var stdout, stderr bytes.Buffer
	if code := run(arguments, strings.NewReader(""), &stdout, &stderr); code != exitOK || stderr.Len() > 0 {
		t.Errorf("%s --help: exit code %d, %s", command.CommandPath(), code, stderr.String())
	}
	return stdout.String()
}
