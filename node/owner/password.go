package owner

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"agentlink/node"
)

// Limits of a password.
const (
	MinPasswordChars = 12
	MaxPasswordBytes = 1024
)

// cost is what one guess costs, as OWASP lists it for argon2id. The parameters
// stand in each hash, so that they can be raised without losing old passwords.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	threads uint8
}

var currentCost = cost{memory: 19456, passes: 3, threads: 1}

const (
	saltSize = 16
	hashSize = 32
)

// Password is a password that can be stored: its argon2id hash as a PHC string,
// $argon2id$v=19$m=…,t=…,p=…$salt$hash. The zero Password is none: an owner who
// comes in by passkeys alone.
type Password struct{ phc string }

// noPassword stands in the place of a hash. No text matches it.
const noPassword = "none"

func (p Password) none() bool { return p.phc == "" || p.phc == noPassword }

// stored is never empty.
func (p Password) stored() string {
	if p.none() {
		return noPassword
	}
	return p.phc
}

// NewPassword checks and hashes a password: at least MinPasswordChars characters
// and at most MaxPasswordBytes bytes, of any kind, and none that is tried first. It takes some 50 ms and belongs outside of
// transactions. Code: bad_request for the field "password".
func NewPassword(text string) (Password, error) {
	if utf8.RuneCountInString(text) < MinPasswordChars || len(text) > MaxPasswordBytes {
		return Password{}, badPassword(fmt.Sprintf("must have %d characters or more and %d bytes at most", MinPasswordChars, MaxPasswordBytes))
	}
	if problem := guessable(text); problem != "" {
		return Password{}, badPassword(problem)
	}
	return hashed(text, currentCost), nil
}

func badPassword(problem string) error {
	return node.BadFields(node.Field{Field: "password", Problem: problem})
}

func hashed(text string, c cost) Password {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails: the program ends first
	return Password{phc: format(c, salt, stretch(text, salt, c))}
}

// one at a time: each takes 19 MiB, whoever asks.
var one sync.Mutex

func stretch(text string, salt []byte, c cost) []byte {
	one.Lock()
	defer one.Unlock()
	return argon2.IDKey([]byte(composed(text)), salt, c.passes, c.memory, c.threads, hashSize)
}

// composed is a password as it is compared: keyboards differ in how they write é,
// and NFC makes them one. Nothing else of it is changed.
func composed(text string) string { return norm.NFC.String(text) }

// matches compares in constant time.
func (p Password) matches(text string) (bool, error) {
	if p.phc == noPassword {
		return false, nil
	}
	c, salt, hash, err := parse(p.phc)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(stretch(text, salt, c), hash) == 1, nil
}

var unpadded = base64.RawStdEncoding.Strict()

func format(c cost, salt, hash []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version,
		c.memory, c.passes, c.threads, unpadded.EncodeToString(salt), unpadded.EncodeToString(hash))
}

var errBadHash = errors.New("the stored password is damaged")

// parse takes what format gives, and bounds the cost: a damaged row must not
// stop the node.
func parse(phc string) (c cost, salt, hash []byte, err error) {
	fields := strings.Split(phc, "$")
	if len(fields) != 6 || fields[0] != "" || fields[1] != "argon2id" || fields[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost{}, nil, nil, errBadHash
	}
	if _, err := fmt.Sscanf(fields[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.threads); err != nil {
		return cost{}, nil, nil, errBadHash
	}
	salt, saltErr := unpadded.DecodeString(fields[4])
	hash, hashErr := unpadded.DecodeString(fields[5])
	if saltErr != nil || hashErr != nil || len(salt) < saltSize || len(hash) != hashSize || !c.bounded() || format(c, salt, hash) != phc {
		return cost{}, nil, nil, errBadHash
	}
	return c, salt, hash, nil
}

func (c cost) bounded() bool {
	return c.memory >= 8 && c.memory <= 1<<20 && c.passes >= 1 && c.passes <= 16 && c.threads >= 1 && c.threads <= 16
}
