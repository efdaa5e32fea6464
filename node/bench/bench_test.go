package bench

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"testing"

	"agentlink/node/store/storetest"
)

var (
	full     = flag.Bool("full", false, "the sizes of docs/speed.md; without it the smallest, which show nothing but that it works")
	only     = flag.String("only", "", "regular expression: only these groups")
	rows     = flag.Int("rows", 1_000_000, "the longest lists")
	jsonFile = flag.String("json", "", "write the table to this file too")
	printed  = flag.String("print", "", "measure nothing: print the table of this JSON file")
	fill     = flag.String("fill", "", "with -print: put the table into this document, between its marks")
)

// group is some rows that need the same set-up.
type group struct {
	name string
	run  func(t *testing.T, table *table)
	// heavy groups run only when they are named by -only.
	heavy bool
}

var groups = []group{
	{name: "policy", run: policyRows},
	{name: "sealing", run: sealRows},
	{name: "proposals on SQLite", run: func(t *testing.T, table *table) { proposals(t, table, sqlite) }},
	{name: "proposals on PostgreSQL", run: func(t *testing.T, table *table) { proposals(t, table, postgres) }},
	{name: "lists on SQLite", run: func(t *testing.T, table *table) { lists(t, table, sqlite) }},
	{name: "lists on PostgreSQL", run: func(t *testing.T, table *table) { lists(t, table, postgres) }},
	{name: "start and memory", run: startRows},
	{name: "waiters", run: waiterRows, heavy: true},
}

func TestMain(m *testing.M) {
	if plan := os.Getenv(bareName); plan != "" {
		if err := beBare(plan); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	code := m.Run()
	forgetProgram()
	os.Exit(code)
}

// TestBench measures everything in the smallest size, and with -full in the
// sizes that mean something.
func TestBench(t *testing.T) {
	if *printed != "" {
		printAgain(t)
		return
	}
	chosen, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	if *full {
		durablePostgres(t)
	}
	result := newTable()
	for _, g := range groups {
		if !chosen.MatchString(g.name) || (g.heavy && *full && *only == "") {
			continue
		}
		t.Run(g.name, func(t *testing.T) {
			result.group = g.name
			g.run(t, result)
		})
	}
	result.print(os.Stdout)
	if *jsonFile != "" {
		result.write(t, *jsonFile)
	}
}

// size is small, or big with -full.
func size[T any](small, big T) T {
	if *full {
		return big
	}
	return small
}

// engine is a kind of database.
type engine string

const (
	sqlite   engine = "SQLite"
	postgres engine = "PostgreSQL"
)

// database is a fresh database for a node; "" is SQLite in its folder.
func (e engine) database(t *testing.T) string {
	if e == postgres {
		return storetest.Postgres(t).URL
	}
	return ""
}
