package api

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestCursorOpensWhatItSealed: for its binding, exactly, and for no other.
func TestCursorOpensWhatItSealed(t *testing.T) {
	t.Parallel()
	cursors, others := NewCursors(make([]byte, 32)), NewCursors(bytes.Repeat([]byte{1}, 32))
	rapid.Check(t, func(t *rapid.T) {
		place := Place{At: time.UnixMicro(rapid.Int64Range(0, 1<<52).Draw(t, "at")).UTC(), ID: rapid.StringN(0, 40, 80).Draw(t, "id")}
		bound := Binding{Caller: "a", List: "l", Filter: rapid.StringMatching(`[a-z]{0,5}`).Draw(t, "filter")}
		text := cursors.SealPlace(bound, place)
		if got, err := cursors.OpenPlace(bound, text); err != nil || got != place {
			t.Fatalf("%v %v, want %v", got, err, place)
		}
		if again := cursors.SealPlace(bound, place); again != text {
			t.Fatal("the same place has two cursors")
		}
		for _, other := range []Binding{
			{Caller: "b", List: bound.List, Filter: bound.Filter}, {Caller: "a", List: "m", Filter: bound.Filter},
			{Caller: "a", List: bound.List, Filter: "another"}, {Caller: "a", List: bound.List}, {Caller: "al", Filter: bound.Filter},
		} {
			if _, err := cursors.OpenPlace(other, text); err == nil {
				t.Fatalf("it opens for %v", other)
			}
		}
		if _, err := others.OpenPlace(bound, text); err == nil {
			t.Fatal("it opens with another key")
		}
	})
}

// TestCursorsBreak: no cursor with a character changed, added or dropped opens.
func TestCursorsBreak(t *testing.T) {
	t.Parallel()
	cursors, bound := NewCursors(make([]byte, 32)), Binding{Caller: "a", List: "events"}
	text := cursors.SealPosition(bound, 1<<40)
	if position, err := cursors.OpenPosition(bound, "after", text); err != nil || position != 1<<40 {
		t.Fatal(position, err)
	}
	for i := range text {
		flipped := []byte(text)
		flipped[i] ^= 1
		for _, broken := range []string{string(flipped), text[:i], text[:i] + text[i+1:], text[:i] + "A" + text[i:], text[:i] + "\n" + text[i:]} {
			if _, err := cursors.OpenPosition(bound, "after", broken); err == nil && broken != "" {
				t.Errorf("%q opens", broken)
			}
		}
	}
	if _, err := cursors.OpenPosition(bound, "after", strings.Repeat("A", 1<<20)); err == nil {
		t.Error("a megabyte opens")
	}
	if _, err := cursors.OpenPlace(bound, cursors.seal(bound, []byte("short"))); err == nil {
		t.Error("a short position opens")
	}
}
