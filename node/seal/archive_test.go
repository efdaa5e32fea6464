package seal

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func archived(t *testing.T, key ArchiveKey, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewArchive(&out, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestArchive(t *testing.T) {
	t.Parallel()
	identity, recipient := NewKeyPair()
	content := strings.Repeat("a whole node ", 20000)
	for name, keys := range map[string][2]ArchiveKey{
		"recipient":             {{Recipient: recipient}, {Identity: identity}},
		"file of an age-keygen": {{Recipient: recipient}, {Identity: "# created: today\n# public key: " + recipient + "\n" + identity + "\n"}},
		"passphrase":            {{Passphrase: []byte("open")}, {Passphrase: []byte("open")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sealed := archived(t, keys[0], content)
			reader, err := OpenArchive(bytes.NewReader(sealed), keys[1])
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(reader); err != nil || string(got) != content {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			cut, err := OpenArchive(bytes.NewReader(sealed[:len(sealed)-1]), keys[1])
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadAll(cut); err == nil {
				t.Error("an archive without its end opens")
			}
		})
	}
}

func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	_, recipient := NewKeyPair()
	other, _ := NewKeyPair()
	sealed := archived(t, ArchiveKey{Recipient: recipient}, "x")
	for name, key := range map[string]ArchiveKey{
		"nothing": {}, "another identity": {Identity: other}, "no identity": {Identity: "AGE-SECRET-KEY-1QQ"}, "comments only": {Identity: "# nothing\n"},
		"a passphrase": {Passphrase: []byte("open")},
	} {
		if _, err := OpenArchive(bytes.NewReader(sealed), key); err == nil || strings.Contains(err.Error(), "AGE-SECRET-KEY-1QQ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, key := range map[string]ArchiveKey{"nothing": {}, "no recipient": {Recipient: "age1xyz"}} {
		if _, err := NewArchive(io.Discard, key); err == nil {
			t.Errorf("%s: an archive for nobody", name)
		}
	}
}
