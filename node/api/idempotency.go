package api

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json"

	"agentlink/node"
)

// Idempotency keeps the answers to requests that carried an Idempotency-Key,
// for 24 hours and sealed.
type Idempotency interface {
	// ClaimIdempotency claims a key of the caller's for a request. claimed is
	// false when the key is taken: then storedHash is the hash of the request that
	// took it and answer what it was answered, nil while that is not known.
	ClaimIdempotency(tx node.Tx, caller, key, hash string) (claimed bool, storedHash string, answer []byte, err error)
	// KeepAnswer stores the answer to the request that claimed the key.
	KeepAnswer(tx node.Tx, caller, key string, answer []byte) error
	// DropIdempotency gives the key back.
	DropIdempotency(tx node.Tx, caller, key string) error
}

// MaxKey is the longest Idempotency-Key, in characters.
const MaxKey = 255

// claim is a call's hold on its Idempotency-Key; the zero value has none.
type claim struct {
	caller, key string
	// stored is the answer that was given before.
	stored *Answer
	// taken says that the key was claimed before by the same request, whose
	// answer is not known here.
	taken bool
}

func badKey() error {
	return node.BadFields(node.Field{Field: "Idempotency-Key", Problem: fmt.Sprintf("must be 1 to %d visible ASCII characters", MaxKey)})
}

func validKey(key string) bool {
	for _, b := range []byte(key) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return len(key) <= MaxKey
}

// requestHash covers route, path and body.
func requestHash(call *Call) string {
	sum := sha256.New()
	fmt.Fprintf(sum, "%d %s %d %s %d ", len(call.Route), call.Route, len(call.Path), call.Path, len(call.Body))
	sum.Write(call.Body)
	return hex.EncodeToString(sum.Sum(nil))
}

// claim takes the call's key, or finds what it was answered. Codes: bad_request,
// conflict (idempotency_reuse).
func (d *Door) claim(tx node.Tx, by Caller, call *Call) (claim, error) {
	key := call.Header.IdempotencyKey
	if key == "" {
		return claim{}, nil
	}
	if !validKey(key) {
		return claim{}, badKey()
	}
	c, hash := claim{caller: by.Agent.ID, key: key}, requestHash(call)
	claimed, storedHash, answer, err := d.Answers.ClaimIdempotency(tx, c.caller, key, hash)
	switch {
	case err != nil || claimed:
		return c, err
	case storedHash != hash:
		return c, node.ConflictFor(node.ReasonIdempotencyReuse, "This Idempotency-Key was used for another request. Take a new key.")
	case answer == nil:
		c.taken = true
		return c, nil
	}
	c.stored = &Answer{}
	return c, node.Wrap(json.Unmarshal(answer, c.stored), "read a stored answer")
}

func (d *Door) keep(tx node.Tx, c claim, answer Answer) error {
	if c.key == "" {
		return nil
	}
	stored, err := json.Marshal(answer)
	if err != nil {
		return node.Wrap(err, "write an answer to store")
	}
	return d.Answers.KeepAnswer(tx, c.caller, c.key, stored)
}

func (d *Door) drop(tx node.Tx, c claim) error {
	if c.key == "" {
		return nil
	}
	return d.Answers.DropIdempotency(tx, c.caller, c.key)
}
