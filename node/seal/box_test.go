package seal

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var here = Place{Table: "messages", Column: "body", Row: "0192d3a4-5b6c-7d8e-9f01-23456789abcd", Owner: "owner-1"}

func testBox() *Box { return NewBox(NewMaster().Key(UseRows)) }

func TestBoxOpensWhatItSealed(t *testing.T) {
	t.Parallel()
	box := testBox()
	for _, size := range []int{0, 1, 31, 1 << 10, 64<<10 - 1, 64 << 10, 64<<10 + 1, 200 << 10} {
		plaintext := make([]byte, size)
		rand.Read(plaintext)
		sealed := box.Seal(here, plaintext)
		if sealed[0] != format || len(sealed) != 1+24+size+16 {
			t.Errorf("%d bytes: %d bytes that begin with %.60q", size, len(sealed), sealed)
		}
		if size >= 31 && bytes.Contains(sealed, plaintext[:31]) {
			t.Errorf("%d bytes: the plaintext shows", size)
		}
		opened, err := box.Open(here, sealed)
		if err != nil || !bytes.Equal(opened, plaintext) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestBoxSealsDifferentlyEachTime(t *testing.T) {
	t.Parallel()
	box := testBox()
	if bytes.Equal(box.Seal(here, []byte("x")), box.Seal(here, []byte("x"))) {
		t.Error("the same value looks the same twice")
	}
}

// A value that was moved to another cell, or that another key sealed, does not
// open.
func TestBoxRefusesAnotherCell(t *testing.T) {
	t.Parallel()
	box := testBox()
	sealed := box.Seal(here, []byte("two guests, no nuts"))
	for name, place := range map[string]Place{
		"table":                         {Table: "approvals", Column: here.Column, Row: here.Row, Owner: here.Owner},
		"column":                        {Table: here.Table, Column: "note", Row: here.Row, Owner: here.Owner},
		"row":                           {Table: here.Table, Column: here.Column, Row: "0192d3a4-5b6c-7d8e-9f01-23456789abce", Owner: here.Owner},
		"owner":                         {Table: here.Table, Column: here.Column, Row: here.Row, Owner: "owner-2"},
		"no owner":                      {Table: here.Table, Column: here.Column, Row: here.Row},
		"nothing":                       {},
		"table and column run together": {Table: "messagesbody", Row: here.Row, Owner: here.Owner},
		"border moved":                  {Table: "message", Column: "sbody", Row: here.Row, Owner: here.Owner},
		"row and owner swapped":         {Table: here.Table, Column: here.Column, Row: here.Owner, Owner: here.Row},
	} {
		if opened, err := box.Open(place, sealed); !errors.Is(err, ErrNotOpened) || opened != nil {
			t.Errorf("another %s: %q, %v", name, opened, err)
		}
	}
	if opened, err := testBox().Open(here, sealed); !errors.Is(err, ErrNotOpened) || opened != nil {
		t.Errorf("another key: %q, %v", opened, err)
	}
}

// 1,000 random swaps of two cells: none is missed.
func TestBoxFindsSwappedCells(t *testing.T) {
	t.Parallel()
	box := testBox()
	places := make([]Place, 64)
	cells := make([][]byte, len(places))
	for i := range places {
		places[i] = Place{Table: fmt.Sprint("t", i%3), Column: fmt.Sprint("c", i%4), Row: fmt.Sprint("r", i), Owner: fmt.Sprint("o", i%2)}
		cells[i] = box.Seal(places[i], []byte(fmt.Sprint("value ", i)))
	}
	random := rapidInts(t, 2000, len(places))
	for n := 0; n < len(random); n += 2 {
		a, b := random[n], random[n+1]
		opened, err := box.Open(places[a], cells[b])
		if (a == b) != (err == nil) || (err == nil && string(opened) != fmt.Sprint("value ", a)) {
			t.Fatalf("the value of %v in the place of %v: %q, %v", places[b], places[a], opened, err)
		}
	}
}

// rapidInts gives count numbers below limit.
func rapidInts(t *testing.T, count, limit int) []int {
	t.Helper()
	raw := make([]byte, count)
	rand.Read(raw)
	ints := make([]int, count)
	for i, b := range raw {
		ints[i] = int(b) % limit
	}
	return ints
}

func TestBoxRefusesChangedBytes(t *testing.T) {
	t.Parallel()
	box, value := testBox(), []byte("a table for two")
	t.Run("now", func(t *testing.T) { refusesChanged(t, box, box.Seal(here, value), box.Seal(here, value)) })
	t.Run("aged", func(t *testing.T) {
		refusesChanged(t, box, sealAged(t, box, here, value), sealAged(t, box, here, value))
	})
}

func refusesChanged(t *testing.T, box *Box, sealed, another []byte) {
	refused := func(name string, changed []byte) {
		t.Helper()
		if opened, err := box.Open(here, changed); !errors.Is(err, ErrNotOpened) || opened != nil {
			t.Errorf("%s: %q, %v", name, opened, err)
		}
	}
	for i := range sealed {
		for _, bit := range []byte{0x01, 0x80} {
			changed := bytes.Clone(sealed)
			changed[i] ^= bit
			refused(fmt.Sprintf("byte %d ^ %#x", i, bit), changed)
		}
		refused(fmt.Sprintf("cut to %d bytes", i), sealed[:i])
		refused(fmt.Sprintf("byte %d gone", i), append(bytes.Clone(sealed[:i]), sealed[i+1:]...))
		refused(fmt.Sprintf("a byte before byte %d", i), append(append(bytes.Clone(sealed[:i]), 'A'), sealed[i:]...))
	}
	refused("a byte more", append(bytes.Clone(sealed), 0))
	refused("twice", append(bytes.Clone(sealed), sealed...))
	refused("another's end", append(bytes.Clone(sealed[:len(sealed)-20]), another[len(another)-20:]...))
	refused("nothing", nil)
}

// age's chunks are 64 KiB: a long value from before must not open in part.
func TestBoxRefusesChangedChunks(t *testing.T) {
	t.Parallel()
	const chunk = 64<<10 + 16
	box := testBox()
	plaintext := make([]byte, 3*(64<<10)+5)
	sealed := sealAged(t, box, here, plaintext)
	start := len(sealed) - 3*chunk - 5 - 16
	head, body := sealed[:start], sealed[start:]
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, changed := range map[string][]byte{
		"last chunk gone":    join(head, body[:3*chunk]),
		"only the first":     join(head, body[:chunk]),
		"first chunk gone":   join(head, body[chunk:]),
		"two chunks swapped": join(head, body[chunk:2*chunk], body[:chunk], body[2*chunk:]),
		"a chunk twice":      join(head, body[:chunk], body),
		"cut inside a chunk": join(head, body[:chunk+100]),
		"something after":    join(sealed, []byte("x")),
		"no chunk at all":    head,
	} {
		if opened, err := box.Open(here, changed); !errors.Is(err, ErrNotOpened) || opened != nil {
			t.Errorf("%s: %d bytes, %v", name, len(opened), err)
		}
	}
}

// A value for another kind of recipient, or with one more, is not ours, even if
// a key of ours could open it.
func TestBoxRefusesOtherRecipients(t *testing.T) {
	t.Parallel()
	box := testBox()
	identity, recipient := NewKeyPair()
	foreign, err := ToRecipient(recipient, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := box.Open(here, foreign); !errors.Is(err, ErrNotOpened) {
		t.Errorf("X25519: %v", err)
	}
	if _, err := FromIdentity(identity, box.Seal(here, []byte("x"))); !errors.Is(err, ErrNotOpened) {
		t.Errorf("a row for a peer: %v", err)
	}
}

func TestBoxPropertyPlaces(t *testing.T) {
	t.Parallel()
	box := testBox()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Place {
			part := rapid.StringMatching(`[ab]{0,2}`)
			return Place{part.Draw(t, label+" table"), part.Draw(t, label+" column"), part.Draw(t, label+" row"), part.Draw(t, label+" owner")}
		}
		one, two := draw("one"), draw("two")
		if (one == two) != bytes.Equal(one.associatedData("x"), two.associatedData("x")) {
			t.Fatalf("%+v and %+v", one, two)
		}
		sealed := box.Seal(one, []byte("x"))
		if _, err := box.Open(two, sealed); (err == nil) != (one == two) {
			t.Fatalf("sealed for %+v, opened for %+v: %v", one, two, err)
		}
	})
}

func TestLookup(t *testing.T) {
	t.Parallel()
	key := NewMaster().Key(UseRows)
	box := NewBox(key)
	hash := box.Lookup("address", "ada@example.org")
	if len(hash) != 64 || strings.Trim(hash, "0123456789abcdef") != "" {
		t.Errorf("%q", hash)
	}
	if again := NewBox(key).Lookup("address", "ada@example.org"); again != hash {
		t.Error("another box of the same key finds nothing")
	}
	for name, other := range map[string]string{
		"value": box.Lookup("address", "ada@example.com"), "kind": box.Lookup("host", "ada@example.org"),
		"border": box.Lookup("addressa", "da@example.org"), "key": testBox().Lookup("address", "ada@example.org"),
	} {
		if other == hash {
			t.Errorf("another %s has the same hash", name)
		}
	}
}

func FuzzBoxOpen(f *testing.F) {
	box := testBox()
	sealed := [][]byte{box.Seal(here, nil), box.Seal(here, []byte("a table for two")), sealAged(f, box, here, nil), sealAged(f, box, here, make([]byte, 70<<10))}
	for _, s := range sealed {
		f.Add(s)
		f.Add(s[:len(s)-1])
	}
	f.Add([]byte("age-encryption.org/v1\n-> agentlink/row\n\n--- \n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opened, err := box.Open(here, data)
		if err != nil {
			if !errors.Is(err, ErrNotOpened) || opened != nil {
				t.Fatalf("%d bytes, %v", len(opened), err)
			}
			return
		}
		for _, s := range sealed {
			if bytes.Equal(s, data) {
				return
			}
		}
		t.Fatalf("what nobody sealed opens as %q", opened)
	})
}
