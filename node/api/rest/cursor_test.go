package rest

import (
	"encoding/base64"
	"slices"
	"testing"
)

// TestPaging: pages follow one another without gap or overlap.
func TestPaging(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.ask("GET", "/v1/agent/connections?limit=2", "")
	cursor, _ := first.member(t, "nextCursor").(string)
	if len(first.member(t, "items").([]any)) != 2 || cursor == "" {
		t.Fatalf("%s", first.body)
	}
	second := w.ask("GET", "/v1/agent/connections?limit=2&cursor="+cursor, "")
	items := second.member(t, "items").([]any)
	if len(items) != 1 || second.member(t, "nextCursor") != nil {
		t.Errorf("%s", second.body)
	}
	if at := items[0].(map[string]any)["createdAt"]; at != "2026-03-01T11:59:58.123456Z" {
		t.Errorf("the third is of %v", at)
	}
}

// TestPageIsFullAndLast: a page that holds the last entry has no cursor.
func TestPageIsFullAndLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := w.ask("GET", "/v1/agent/connections?limit=3", "")
	if len(a.member(t, "items").([]any)) != 3 || a.member(t, "nextCursor") != nil {
		t.Errorf("%s", a.body)
	}
}

// TestCursorsAreBound: a cursor opens for its agent, its list and its filter
// alone, and not once a bit of it is another.
func TestCursorsAreBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	next, _ := w.ask("GET", "/v1/agent/tasks?limit=1", "").member(t, "nextCursor").(string)
	if next == "" {
		t.Fatal("no cursor")
	}
	if a := w.ask("GET", "/v1/agent/tasks?cursor="+next, ""); a.status != 200 {
		t.Fatalf("its own list: %d %s", a.status, a.body)
	}
	events := w.ask("GET", "/v1/agent/events", "").member(t, "cursor").(string)
	raw, err := base64.RawURLEncoding.DecodeString(next)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)-1] ^= 1
	refusals := []struct{ name, bearer, path, field string }{
		{"another agent", w.bearer(bobID), "/tasks?cursor=" + next, "cursor"},
		{"another list", w.bearer(adaID), "/connections?cursor=" + next, "cursor"},
		{"another filter", w.bearer(adaID), "/tasks?status=agreed&cursor=" + next, "cursor"},
		{"another contact", w.bearer(adaID), "/tasks?connection=" + connectionID + "&cursor=" + next, "cursor"},
		{"a bit turned", w.bearer(adaID), "/tasks?cursor=" + base64.RawURLEncoding.EncodeToString(raw), "cursor"},
		{"cut", w.bearer(adaID), "/tasks?cursor=" + next[:len(next)-4], "cursor"},
		{"of the feed", w.bearer(adaID), "/tasks?cursor=" + events, "cursor"},
		{"the feed's for another agent", w.bearer(bobID), "/events?after=" + events, "after"},
		{"a list's for the feed", w.bearer(adaID), "/events?after=" + next, "after"},
	}
	for _, c := range refusals {
		a := w.askAs(c.bearer, "GET", "/v1/agent"+c.path, "")
		if a.status != 400 || !slices.Equal(a.fieldsOf(t), []string{c.field}) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
}

// TestFeedTellsNoPosition: the cursors of two agents at one position, and of one
// agent at neighbouring positions, have nothing in common but their length.
func TestFeedTellsNoPosition(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := w.ask("GET", "/v1/agent/events", "").member(t, "items").([]any)
	again := w.ask("GET", "/v1/agent/events", "").member(t, "items").([]any)
	var cursors []string
	for i := range list {
		cursor := list[i].(map[string]any)["cursor"].(string)
		if cursor != again[i].(map[string]any)["cursor"] {
			t.Error("an event's id is another when asked again")
		}
		cursors = append(cursors, cursor)
	}
	if len(cursors) != 2 || len(cursors[0]) != len(cursors[1]) || cursors[0][:8] == cursors[1][:8] {
		t.Errorf("%q", cursors)
	}
	first := w.ask("GET", "/v1/agent/events?limit=1", "")
	rest := w.ask("GET", "/v1/agent/events?after="+first.member(t, "cursor").(string), "")
	if items := rest.member(t, "items").([]any); len(items) != 1 || items[0].(map[string]any)["cursor"] != cursors[1] {
		t.Errorf("%s", rest.body)
	}
}
