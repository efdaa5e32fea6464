package seal

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"errors"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/chacha20poly1305"
)

// agedRecipient seals as Box.Seal did until November 2026.
type agedRecipient struct{ *aged }

// Wrap implements age.Recipient.
func (r agedRecipient) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	aead, err := chacha20poly1305.NewX(r.key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, aead.NonceSize())
	rand.Read(nonce)
	body := aead.Seal(nonce, nonce, fileKey, r.place.associatedData("agentlink/row/v1"))
	return []*age.Stanza{{Type: rowStanza, Body: body}}, nil
}

func sealAged(t testing.TB, box *Box, place Place, plaintext []byte) []byte {
	t.Helper()
	sealed, err := encrypt(agedRecipient{&aged{key: box.agedKey, place: place}}, plaintext)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

// agedValue was written by the program before the format changed: "a table for
// two" in the place here, under the master key of 32 zeros.
//
//go:embed testdata/aged.value
var agedValue []byte

func TestBoxOpensWhatWasSealedBefore(t *testing.T) {
	t.Parallel()
	box := NewBox(Master{key: make([]byte, masterSize)}.Key(UseRows))
	if opened, err := box.Open(here, agedValue); err != nil || string(opened) != "a table for two" {
		t.Errorf("%q, %v", opened, err)
	}
	box = testBox()
	for _, size := range []int{0, 1, 31, 1 << 10, 64 << 10, 64<<10 + 1, 200 << 10} {
		plaintext := bytes.Repeat([]byte{7}, size)
		sealed := sealAged(t, box, here, plaintext)
		if opened, err := box.Open(here, sealed); err != nil || !bytes.Equal(opened, plaintext) {
			t.Errorf("%d bytes: %v", size, err)
		}
		elsewhere := here
		elsewhere.Row = "another"
		if opened, err := box.Open(elsewhere, sealed); !errors.Is(err, ErrNotOpened) || opened != nil {
			t.Errorf("%d bytes in another place: %v", size, err)
		}
	}
}

// A header with one more recipient, or with anything else that was never
// written, could only come from somebody who edits rows.
func TestAgedUnwrapsOnlyWhatWasWrapped(t *testing.T) {
	t.Parallel()
	c := agedRecipient{&aged{key: subkey(NewMaster().Key(UseRows), "test"), place: here}}
	fileKey := bytes.Repeat([]byte{1}, fileKeySize)
	stanzas, err := c.Wrap(fileKey)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Unwrap(stanzas); err != nil || !bytes.Equal(got, fileKey) {
		t.Fatalf("%x, %v", got, err)
	}
	long, err := c.Wrap(append(fileKey, 0))
	if err != nil {
		t.Fatal(err)
	}
	good := stanzas[0]
	for name, changed := range map[string][]*age.Stanza{
		"none":         nil,
		"two":          {good, good},
		"one before":   {{Type: "X25519", Args: []string{"x"}, Body: good.Body}, good},
		"one behind":   {good, {Type: "grease"}},
		"another type": {{Type: "scrypt", Body: good.Body}},
		"an argument":  {{Type: good.Type, Args: []string{"x"}, Body: good.Body}},
		"no body":      {{Type: good.Type}},
		"short body":   {{Type: good.Type, Body: good.Body[:10]}},
		"body cut":     {{Type: good.Type, Body: good.Body[:len(good.Body)-1]}},
		"body longer":  {{Type: good.Type, Body: append(bytes.Clone(good.Body), 0)}},
		"long key":     long,
	} {
		if got, err := c.Unwrap(changed); err == nil || got != nil {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
}
