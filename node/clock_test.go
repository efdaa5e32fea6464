package node_test

import (
	"testing"
	"time"

	"agentlink/node"
)

func TestClocks(t *testing.T) {
	t.Parallel()
	now := node.SystemClock{}.Now()
	if now.Location() != time.UTC || now.Nanosecond()%1000 != 0 {
		t.Errorf("%v is not in UTC and whole microseconds", now)
	}
	start := time.Date(2026, 3, 29, 3, 0, 0, 1_234, time.FixedZone("", 7200))
	clock := node.NewFakeClock(start)
	if got, want := clock.Now(), time.Date(2026, 3, 29, 1, 0, 0, 1_000, time.UTC); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	clock.Advance(time.Hour + 999*time.Nanosecond)
	if got, want := clock.Now(), time.Date(2026, 3, 29, 2, 0, 0, 1_000, time.UTC); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	last := ""
	for range 1000 {
		id := node.RandomIDs{}.New()
		if !node.ValidID(id) || id[14] != '7' || seen[id] {
			t.Fatalf("%q", id)
		}
		if id < last {
			t.Fatalf("%s was made after %s", id, last)
		}
		seen[id], last = true, id
	}
}

func TestValidID(t *testing.T) {
	t.Parallel()
	const id = "0192d3a4-5b6c-7d8e-9f01-23456789abcd"
	if !node.ValidID(id) {
		t.Errorf("%q is refused", id)
	}
	for _, bad := range []string{
		"", "x", id + " ", " " + id, id[:35], id + "0", "urn:uuid:" + id, "{" + id + "}",
		"0192D3A4-5B6C-7D8E-9F01-23456789ABCD", "0192d3a45b6c7d8e9f0123456789abcd", "0192d3a4-5b6c-7d8e-9f01-23456789abcg", "0192d3a4_5b6c-7d8e-9f01-23456789abcd",
	} {
		if node.ValidID(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}
