package seal

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"filippo.io/age"
)

func TestPeerOpensWhatWasSealedForIt(t *testing.T) {
	t.Parallel()
	identity, recipient := NewKeyPair()
	if !strings.HasPrefix(identity, "AGE-SECRET-KEY-1") || !strings.HasPrefix(recipient, "age1") || !ValidRecipient(recipient) {
		t.Fatalf("%.16s…, %s", identity, recipient)
	}
	parsed, err := ParseIdentity(identity)
	if err != nil || parsed.Recipient() != recipient {
		t.Fatalf("%s, %v", parsed.Recipient(), err)
	}
	for _, size := range []int{0, 1, MaxPeerPlaintext} {
		plaintext := bytes.Repeat([]byte("a"), size)
		sealed, err := ToRecipient(recipient, plaintext)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := FromIdentity(identity, sealed); err != nil || !bytes.Equal(got, plaintext) {
			t.Errorf("%d bytes: %v", size, err)
		}
		other, _ := NewKeyPair()
		if got, err := FromIdentity(other, sealed); !errors.Is(err, ErrNotOpened) || got != nil {
			t.Errorf("%d bytes, another's identity: %v", size, err)
		}
		for _, at := range []int{0, 30, len(sealed) / 2, len(sealed) - 1} {
			changed := bytes.Clone(sealed)
			changed[at] ^= 1
			if got, err := FromIdentity(identity, changed); !errors.Is(err, ErrNotOpened) || got != nil {
				t.Errorf("%d bytes, byte %d changed: %v", size, at, err)
			}
		}
	}
}

func TestPeerPlaintextIsCapped(t *testing.T) {
	t.Parallel()
	identity, recipient := NewKeyPair()
	if _, err := ToRecipient(recipient, make([]byte, MaxPeerPlaintext+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("sealing: %v", err)
	}
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{MaxPeerPlaintext + 1, 8 << 20} {
		sealed, err := encrypt(to, make([]byte, size)) // a peer keeps to no rule
		if err != nil {
			t.Fatal(err)
		}
		if got, err := FromIdentity(identity, sealed); !errors.Is(err, ErrTooLarge) || got != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestPeerRefusesOtherKeys(t *testing.T) {
	t.Parallel()
	identity, recipient := NewKeyPair()
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nothing": "", "identity": identity, "upper case": strings.ToUpper(recipient), "cut": recipient[:len(recipient)-1],
		"changed": recipient[:10] + "q" + recipient[11:] + "q", "space": recipient + " ", "hybrid": hybrid.Recipient().String(),
		"low order": "age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z",
	} {
		if _, err := ToRecipient(text, []byte("x")); err == nil {
			t.Errorf("%s: sealed for it", name)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%s: the error quotes it", name)
		}
		if ValidRecipient(text) {
			t.Errorf("%s: valid", name)
		}
	}
	for _, text := range []string{"", recipient, identity[:40], strings.ToLower(identity) + "x"} {
		if _, err := ParseIdentity(text); err == nil {
			t.Errorf("%.8q…: is an identity", text)
		} else if text != "" && strings.Contains(err.Error(), text) {
			t.Error("the error quotes the identity")
		}
	}
}

func FuzzPeerOpen(f *testing.F) {
	text, recipient := NewKeyPair()
	identity, err := ParseIdentity(text)
	if err != nil {
		f.Fatal(err)
	}
	sealed, err := ToRecipient(recipient, []byte(`{"type":"message"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(sealed[:len(sealed)-1])
	f.Add([]byte("age-encryption.org/v1\n-> X25519 AAAA\nAAAA\n--- AAAA\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opened, err := identity.Open(data)
		switch {
		case err == nil && !bytes.Equal(data, sealed):
			t.Fatalf("what was not sealed opens as %q", opened)
		case err != nil && (opened != nil || (!errors.Is(err, ErrNotOpened) && !errors.Is(err, ErrTooLarge))):
			t.Fatalf("%q, %v", opened, err)
		}
	})
}
