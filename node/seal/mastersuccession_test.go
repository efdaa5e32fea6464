package seal

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"
)

// TestSuccession: a key that has followed another shares nothing with it but the first
// key, and its file opens as the one before did.
func TestSuccession(t *testing.T) {
	t.Parallel()
	for name, passphrase := range map[string]string{"plain": "", "with a passphrase": "correct horse battery"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "master.key")
			first, err := createMaster(path, []byte(passphrase), 10)
			if err != nil {
				t.Fatal(err)
			}
			before := first
			for range 2 {
				wantWaiting(t, path, false)
				present, next, err := createSuccessor(path, phrase(passphrase), 10)
				if err != nil || !bytes.Equal(present.key, before.key) {
					t.Fatalf("the present key is another one, or %v", err)
				}
				follows(t, first, before, next)
				wantWaiting(t, path, true)
				if _, _, err := createSuccessor(path, phrase(passphrase), 10); err == nil {
					t.Error("a key that waits was replaced")
				}
				if err := SettleSuccessor(path); err != nil {
					t.Fatal(err)
				}
				loaded, err := LoadMaster(path, phrase(passphrase))
				if err != nil || !bytes.Equal(loaded.key, next.key) || !bytes.Equal(loaded.first, first.key) {
					t.Errorf("the file holds other keys, or %v", err)
				}
				before = next
			}
		})
	}
}

func follows(t *testing.T, first, before, next Master) {
	t.Helper()
	place := Place{Table: "t", Column: "c", Row: "r", Owner: "o"}
	for name, test := range map[string]struct{ sealed, opening Master }{"the one before": {before, next}, "the one after": {next, before}} {
		if _, err := test.opening.Box().Open(place, test.sealed.Box().Seal(place, []byte("x"))); !errors.Is(err, ErrNotOpened) {
			t.Errorf("what %s sealed opens: %v", name, err)
		}
	}
	for _, use := range []Use{UseRows, UseRowMAC, UseApproval, UseAudit, UseCursor, UseSessions} {
		if bytes.Equal(next.Key(use), before.Key(use)) {
			t.Errorf("%s: the key is the one before", use)
		}
		if !bytes.Equal(next.First().Key(use), first.Key(use)) {
			t.Errorf("%s: the first key is another one", use)
		}
	}
	if next.Box().Lookup("kind", "value") != first.Box().Lookup("kind", "value") {
		t.Error("what is stored is not found again")
	}
}

// TestSuccessorIsDropped: nothing of it stays, and the key in place is as it was.
func TestSuccessorIsDropped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	made, err := CreateMaster(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := CreateSuccessor(path, nil); err != nil {
		t.Fatal(err)
	}
	if err := DropSuccessor(path); err != nil {
		t.Fatal(err)
	}
	wantWaiting(t, path, false)
	if loaded, err := LoadMaster(path, nil); err != nil || !bytes.Equal(loaded.key, made.key) || loaded.first != nil {
		t.Errorf("the key in place is another one, or %v", err)
	}
	if err := SettleSuccessor(path); err == nil {
		t.Error("nothing took its place")
	}
}

// TestSuccessorNeedsThePassphrase: without it nothing is made.
func TestSuccessorNeedsThePassphrase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	if _, err := createMaster(path, []byte("correct horse battery"), 10); err != nil {
		t.Fatal(err)
	}
	for name, ask := range map[string]func() ([]byte, error){"none": nil, "a wrong one": phrase("correct horse batterx")} {
		if _, _, err := createSuccessor(path, ask, 10); err == nil {
			t.Errorf("%s: a key was made", name)
		}
		wantWaiting(t, path, false)
	}
}

func wantWaiting(t *testing.T, path string, want bool) {
	t.Helper()
	if waits, err := HasSuccessor(path); err != nil || waits != want {
		t.Errorf("a key waits: %v, %v; want %v", waits, err, want)
	}
}
