// Command agentlink runs a node, and lets its owner act on it from the command
// line.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
