package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"testing"

	"golang.org/x/crypto/curve25519"
)

// The floor beside them is AES-256-GCM with the place as associated data.

func BenchmarkSeal1KiB(b *testing.B) {
	box, value := testBox(), make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		box.Seal(here, value)
	}
}

func BenchmarkOpen1KiB(b *testing.B) {
	box := testBox()
	sealed := box.Seal(here, make([]byte, 1<<10))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := box.Open(here, sealed); err != nil {
			b.Fatal(err)
		}
	}
}

func gcm(b *testing.B) cipher.AEAD {
	block, err := aes.NewCipher(NewMaster().Key(UseRows))
	if err != nil {
		b.Fatal(err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		b.Fatal(err)
	}
	return aead
}

func BenchmarkFloorSeal1KiB(b *testing.B) {
	aead, value := gcm(b), make([]byte, 1<<10)
	b.ReportAllocs()
	for b.Loop() {
		aead.Seal(nil, nil, value, here.associatedData(valueLabel))
	}
}

func BenchmarkFloorOpen1KiB(b *testing.B) {
	aead := gcm(b)
	sealed := aead.Seal(nil, nil, make([]byte, 1<<10), here.associatedData(valueLabel))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := aead.Open(nil, nil, sealed, here.associatedData(valueLabel)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkToRecipient1KiB(b *testing.B) {
	_, recipient := NewKeyPair()
	value := make([]byte, 1<<10)
	for b.Loop() {
		if _, err := ToRecipient(recipient, value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFromIdentity1KiB(b *testing.B) {
	text, recipient := NewKeyPair()
	identity, err := ParseIdentity(text)
	if err != nil {
		b.Fatal(err)
	}
	sealed, err := ToRecipient(recipient, make([]byte, 1<<10))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := identity.Open(sealed); err != nil {
			b.Fatal(err)
		}
	}
}

// The floor of what goes to a peer is the arithmetic on the curve: sealing makes a
// key of its own and a shared one, opening a shared one.
func BenchmarkFloorToRecipient1KiB(b *testing.B) {
	base, point := make([]byte, 32), make([]byte, 32)
	base[0], point[0] = 9, 9
	for b.Loop() {
		for range 2 {
			if _, err := curve25519.X25519(base, point); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkFloorFromIdentity1KiB(b *testing.B) {
	base, point := make([]byte, 32), make([]byte, 32)
	base[0], point[0] = 9, 9
	for b.Loop() {
		if _, err := curve25519.X25519(base, point); err != nil {
			b.Fatal(err)
		}
	}
}
