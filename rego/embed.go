// Package rego holds the rules by which the node decides, and nothing else:
// which grant counts, constraints, the decision table. Package policy/engine
// evaluates them. Their tests stand beside them and are not embedded.
package rego

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"sync"
)

//go:embed constraints.rego decide.rego facts.rego kinds.rego narrowing.rego precedence.rego table.json
var files embed.FS

// Names of what is embedded, in the order in which Version reads them.
var (
	modules = []string{"constraints.rego", "decide.rego", "facts.rego", "kinds.rego", "narrowing.rego", "precedence.rego"}
	table   = "table.json"
)

// Query is the one question that the rules answer: {capability: [outcome,
// reason, grant]}.
const Query = "data.agentlink.decide.answers"

// Modules are the rules by file name.
func Modules() map[string]string {
	sources := make(map[string]string, len(modules))
	for _, name := range modules {
		sources[name] = string(read(name))
	}
	return sources
}

// Table is the decision table and the outcome of each reason: JSON, the rules'
// data.
func Table() []byte { return read(table) }

// Version is the SHA-256 of rules and table, hex.
var Version = sync.OnceValue(func() string {
	sum := sha256.New()
	for _, name := range append(append([]string{}, modules...), table) {
		source := read(name)
		fmt.Fprintf(sum, "%s %d\n", name, len(source))
		sum.Write(source)
	}
	return hex.EncodeToString(sum.Sum(nil))
})

func read(name string) []byte {
	source, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the compiler embedded it
	}
	return source
}
