// Package storetest is the suite that both databases pass, and fresh databases
// for the tests of any package.
package storetest

import (
	"maps"
	"slices"
	"testing"

	"agentlink/node/store"
)

// Opener gives a fresh, migrated store, which is closed when the test ends.
type Opener = func(t *testing.T) *store.Store

// suite is the tests of every domain, by the names of their functions.
// TestSuiteIsWhole keeps the list complete.
var suite = map[string]func(t *testing.T, open func(t *testing.T) *store.Store){
	"Actions":      Actions,
	"Activity":     Activity,
	"Approvals":    Approvals,
	"Coordination": Coordination,
	"Core":         Core,
	"Disclosures":  Disclosures,
	"Idempotency":  Idempotency,
	"Keys":         Keys,
	"OAuth":        OAuth,
	"Overlays":     Overlays,
	"Owner":        Owner,
	"OwnerAccess":  OwnerAccess,
	"Audit":        Audit,
	"Outbox":       Outbox,
	"PeerHeads":    PeerHeads,
	"Policy":       Policy,
	"Strangers":    Strangers,
}

// Names lists the parts of the suite.
func Names() []string { return slices.Sorted(maps.Keys(suite)) }

// Run runs the whole suite on one kind of database.
func Run(t *testing.T, open Opener) {
	for name, run := range suite {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, open)
		})
	}
}

// Each runs f on both databases, as subtests.
func Each(t *testing.T, f func(t *testing.T, open Opener)) {
	EachDatabase(t, func(t *testing.T, fresh func(t *testing.T) Database) {
		f(t, func(t *testing.T) *store.Store { return fresh(t).Open(t) })
	})
}

// EachDatabase runs f on both databases, for tests that open one more than once.
func EachDatabase(t *testing.T, f func(t *testing.T, fresh func(t *testing.T) Database)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, SQLite)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		RequirePostgres(t)
		f(t, Postgres)
	})
}

// OpenSQLite opens a fresh database in a file.
func OpenSQLite(t *testing.T) *store.Store {
	t.Helper()
	return SQLite(t).Open(t)
}

// OpenMemory opens a fresh database in memory.
func OpenMemory(t *testing.T) *store.Store {
	t.Helper()
	return Memory(t).Open(t)
}

// OpenPostgres opens a fresh schema on the server of AGENTLINK_TEST_DATABASE_URL.
func OpenPostgres(t *testing.T) *store.Store {
	t.Helper()
	return Postgres(t).Open(t)
}
