package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"
)

// What age writes for a cell has one form, since there is one recipient whose body
// has one length: two lines of base64, then the MAC of all before its space.
const (
	cellStart  = "age-encryption.org/v1\n-> " + rowStanza + "\n"
	secondLine = len(cellStart) + 64 + 1
	bodyEnd    = secondLine + 11 + 1
	macStart   = bodyEnd + len("--- ")
	macEnd     = macStart + 43
	nonceStart = macEnd + 1
	chunkStart = nonceStart + 16
	// chunkLimit is the length of a value that age keeps in one chunk.
	chunkLimit = chunkStart + 64<<10 + chacha20poly1305.Overhead
	bodySize   = chacha20poly1305.NonceSizeX + fileKeySize + chacha20poly1305.Overhead
)

var strict64 = base64.RawStdEncoding.Strict()

// open opens a value of one chunk by itself: age's readers take 64 KiB of memory
// for each, and a list opens hundreds. Longer values, and whatever has another
// form, are left to age.
func (c *cell) open(sealed []byte) ([]byte, error) {
	body, mac, ok := parseCell(sealed)
	if !ok {
		return decrypt(c, sealed, int64(len(sealed)))
	}
	fileKey, err := c.unwrapBody(body)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	if !hmac.Equal(mac, keyedHash(ageKey(fileKey, nil, "header"), sealed[:macStart-1])) {
		return nil, fmt.Errorf("%w: the header was changed", ErrNotOpened)
	}
	return openChunk(ageKey(fileKey, sealed[nonceStart:chunkStart], "payload"), sealed[chunkStart:])
}

// parseCell gives the body of the one recipient and the MAC of the header.
func parseCell(sealed []byte) (body, mac []byte, ok bool) {
	if len(sealed) < chunkStart || len(sealed) > chunkLimit || !bytes.HasPrefix(sealed, []byte(cellStart)) ||
		sealed[secondLine-1] != '\n' || sealed[bodyEnd-1] != '\n' || string(sealed[bodyEnd:macStart]) != "--- " || sealed[macEnd] != '\n' {
		return nil, nil, false
	}
	body, first := appendStrict(make([]byte, 0, bodySize), sealed[len(cellStart):secondLine-1], 48)
	body, second := appendStrict(body, sealed[secondLine:bodyEnd-1], bodySize-48)
	mac, third := appendStrict(nil, sealed[macStart:macEnd], sha256.Size)
	return body, mac, first && second && third
}

// appendStrict wants exactly size bytes: the decoder passes over line breaks, which
// would make it fewer.
func appendStrict(to, text []byte, size int) ([]byte, bool) {
	out, err := strict64.AppendDecode(to, text)
	return out, err == nil && len(out)-len(to) == size
}

// ageKey derives a key from a file key, as the format says.
func ageKey(fileKey, salt []byte, use string) []byte {
	key, err := derive(fileKey, salt, use, chacha20poly1305.KeySize)
	if err != nil {
		panic(err) // only for lengths that HKDF cannot give
	}
	return key
}

// openChunk opens the first and last chunk of a value.
func openChunk(key, chunk []byte) ([]byte, error) {
	aead, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, chacha20poly1305.NonceSize)
	nonce[len(nonce)-1] = 1 // number 0, the last
	plaintext, err := aead.Open(nil, nonce, chunk, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotOpened, err)
	}
	return plaintext, nil
}
