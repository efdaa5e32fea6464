package api

import (
	"fmt"
	"testing"
	"time"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	f := &Failures{Most: 3, Window: time.Minute}
	for range 3 {
		if f.Blocked("a", at) != 0 {
			t.Fatal("blocked too early")
		}
		f.Add("a", at)
	}
	if got := f.Blocked("a", at.Add(10*time.Second)); got != 50*time.Second {
		t.Errorf("blocked for %v", got)
	}
	if f.Blocked("b", at) != 0 {
		t.Error("another source is blocked")
	}
	if f.Blocked("a", at.Add(time.Minute)) != 0 {
		t.Error("blocked when the window is over")
	}
	f.Add("a", at.Add(time.Minute))
	if f.Blocked("a", at.Add(time.Minute)) != 0 {
		t.Error("old failures count in a new window")
	}
}

// TestFailuresAreBounded: what is remembered has an end, and comes free again.
func TestFailuresAreBounded(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	f := &Failures{Most: 1, Window: time.Minute}
	f.Add("first", at)
	for i := range maxFailing + 100 {
		f.Add(fmt.Sprint(i), at)
	}
	if len(f.seen) != maxFailing {
		t.Errorf("%d remembered", len(f.seen))
	}
	if f.Blocked("first", at) == 0 {
		t.Error("a flood of others makes the first forgotten")
	}
	f.Add("late", at.Add(time.Minute))
	if len(f.seen) != 1 || f.Blocked("late", at.Add(time.Minute)) == 0 {
		t.Errorf("%d remembered a minute later", len(f.seen))
	}
}

func TestSlots(t *testing.T) {
	t.Parallel()
	var s slots
	if !s.take("a", 2) || !s.take("a", 2) || s.take("a", 2) || !s.take("b", 2) {
		t.Error("two places each")
	}
	s.free("a")
	if !s.take("a", 2) {
		t.Error("a freed place is not free")
	}
	s.free("a")
	s.free("a")
	s.free("b")
	if len(s.used) != 0 {
		t.Errorf("%v", s.used)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{
		`"a"`: true, `W/"a"`: true, `"b", "a"`: true, `"b",W/"a"`: true, `*`: true, ``: false, `"b"`: false, `a`: false, `"a`: false, `"A"`: false,
	} {
		if matches(header, `"a"`) != want {
			t.Errorf("%s: %v", header, !want)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]time.Time{
		`"2026-03-08T18:00:00.000000Z"`: time.Date(2026, 3, 8, 19, 0, 0, 999, time.FixedZone("CET", 3600)),
		`"2026-03-08T18:00:00.120000Z"`: time.Date(2026, 3, 8, 18, 0, 0, 120_000_000, time.UTC),
	} {
		if got, err := (Time{at}).MarshalJSON(); err != nil || string(got) != text {
			t.Errorf("%s %v, want %s", got, err, text)
		}
	}
}
