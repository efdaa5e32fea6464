package seal

import (
	"bytes"
	"testing"

	"filippo.io/age"
)

// A header with one more recipient, or with anything else that Wrap does not
// write, could only come from somebody who edits rows.
func TestCellUnwrapsOnlyWhatItWraps(t *testing.T) {
	t.Parallel()
	c := &cell{key: subkey(NewMaster().Key(UseRows), "test"), place: here}
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
