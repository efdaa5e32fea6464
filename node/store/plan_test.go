package store_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"agentlink/node"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

// unindexed lists parts of statements that may read or sort without an index,
// with white space made one, and the reason.
var unindexed = map[string]string{
	"FROM recovery_codes":  "holds ten",
	"SELECT COUNT(*) FROM": "a test counts",
	"FROM approvals WHERE status IN ('pending', 'approved')": "what is open is little: approvals.MaxPending an agent, for a day",
	"ORDER BY CASE WHEN type = 'task.void'":                  "at most two messages share a number",
	"(agent_id, id) IN (SELECT c.agent_id":                   "one message of each connection",
}

// TestStatementsUseIndexes runs the suite in memory and looks at SQLite's plan of each
// statement: none reads a whole table, or sorts what an index could give in
// order.
func TestStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	seen := statementsOfSuite(t)
	if len(seen) < 30 {
		t.Errorf("only %d statements ran", len(seen))
	}
	s := storetest.OpenMemory(t)
	for query := range seen {
		for _, step := range plan(t, s, query) {
			if problem(step) && !excused(query) {
				t.Errorf("%s\n\t%s", step, query)
			}
		}
	}
}

func statementsOfSuite(t *testing.T) map[string]bool {
	var mu sync.Mutex
	seen := map[string]bool{}
	t.Run("suite", func(t *testing.T) { // returns when its parallel parts have
		storetest.Run(t, func(t *testing.T) *store.Store {
			s := storetest.OpenMemory(t)
			t.Cleanup(func() { // before the store is closed
				if s.Ping(context.Background()) != nil {
					return // the test has closed it
				}
				mu.Lock()
				defer mu.Unlock()
				for _, query := range s.Statements() {
					seen[query] = true
				}
			})
			return s
		})
	})
	return seen
}

// problem says whether a step reads all of a table or sorts all of a result.
// Sorting among rows that the index gives as equals is fine.
func problem(step string) bool {
	return strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") && step != "SCAN CONSTANT ROW" && !strings.HasSuffix(step, "-ROW VALUES CLAUSE") ||
		strings.HasPrefix(step, "USE TEMP B-TREE FOR ORDER BY")
}

var spaces = regexp.MustCompile(`\s+`)

func excused(query string) bool {
	query = spaces.ReplaceAllString(query, " ")
	for part := range unindexed {
		if strings.Contains(query, part) {
			return true
		}
	}
	return false
}

var placeholders = regexp.MustCompile(`\$(\d+)`)

func plan(t *testing.T, s *store.Store, query string) (steps []string) {
	t.Helper()
	kind, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	if !strings.Contains("SELECT INSERT UPDATE DELETE WITH", kind) {
		return nil
	}
	count := 0
	for _, found := range placeholders.FindAllStringSubmatch(query, -1) {
		n, _ := strconv.Atoi(found[1])
		count = max(count, n)
	}
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		return s.Each(tx, "EXPLAIN QUERY PLAN "+query, make([]any, count), func(scan func(...any) error) error {
			var id, parent, unused int
			var step string
			err := scan(&id, &parent, &unused, &step)
			steps = append(steps, step)
			return err
		})
	})
	if err != nil {
		t.Error(fmt.Errorf("explain %s: %w", query, err))
	}
	return steps
}
