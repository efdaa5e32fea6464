package budget

import (
	"fmt"
	"testing"
	"time"
)

var start = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

func TestEachKeyHasItsOwnBudget(t *testing.T) {
	t.Parallel()
	b := New(3, time.Minute, 100)
	for range 3 {
		if _, over := b.Over("a", start); over {
			t.Fatal("over before the limit")
		}
		b.Spend("a", start)
	}
	pause, over := b.Over("a", start.Add(20*time.Second))
	if !over || pause != 40*time.Second {
		t.Fatalf("pause %v, over %v; want 40s, true", pause, over)
	}
	if _, over := b.Over("b", start); over {
		t.Fatal("another key is over too")
	}
}

func TestAWindowEnds(t *testing.T) {
	t.Parallel()
	b := New(1, time.Minute, 100)
	b.Spend("a", start)
	for name, now := range map[string]time.Time{"after": start.Add(time.Minute), "clock set back": start.Add(-time.Hour)} {
		if _, over := b.Over("a", now); over {
			t.Errorf("%s: still over", name)
		}
	}
	b.Spend("a", start.Add(time.Minute))
	if _, over := b.Over("a", start.Add(time.Minute)); !over {
		t.Error("the next window does not count")
	}
}

func TestTheNumberOfKeysIsBounded(t *testing.T) {
	t.Parallel()
	b := New(1, time.Minute, 50)
	for i := range 10_000 {
		b.Spend(fmt.Sprint(i), start.Add(time.Duration(i)*time.Millisecond))
		if len(b.keys) > 50 {
			t.Fatalf("%d keys", len(b.keys))
		}
	}
	if _, over := b.Over("9999", start.Add(10*time.Second)); !over {
		t.Error("the newest key was forgotten")
	}
}
