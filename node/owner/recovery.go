package owner

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// A recovery code has 136 random bits: too many to try, whoever has the hashes, so
// that they need no slow hash. They are written in Crockford's base 32, which
// has no letter that looks like a digit.
const (
	RecoveryCodeCount = 10
	recoveryBytes     = 17 // 28 characters
	recoveryGroup     = 4
)

var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// byRecoveryCode is the kind of guesses at recovery codes.
var byRecoveryCode = kind{bucket: "recovery code", how: HowRecovery, plural: "recovery codes"}

// RecoveryCodes says how many codes are left. MadeAt is zero where none were ever
// made.
type RecoveryCodes struct {
	Left   int
	MadeAt time.Time
}

// RecoveryCodes counts the codes.
func (a *Access) RecoveryCodes(tx node.Tx) (RecoveryCodes, error) {
	left, at, err := a.store.RecoveryCodes(tx)
	return RecoveryCodes{Left: left, MadeAt: at}, err
}

// MakeRecoveryCodes makes codes in the place of all earlier ones. They are given
// this once. Code: unauthorized without a fresh session.
func (a *Access) MakeRecoveryCodes(tx node.Tx, s Session) ([]string, error) {
	if _, _, err := a.owner.store.LockOwner(tx); err != nil { // one set at a time
		return nil, err
	}
	s, err := a.confirmed(tx, s)
	if err != nil {
		return nil, err
	}
	codes, hashes := make([]string, RecoveryCodeCount), make([]string, RecoveryCodeCount)
	for i := range codes {
		codes[i] = newRecoveryCode()
		hashes[i] = hashOf(plainCode(codes[i]))
	}
	if err := a.store.ReplaceRecoveryCodes(tx, s.OwnerID, hashes); err != nil {
		return nil, err
	}
	err = a.log.Append(tx, audit.Event{Type: audit.OwnerRecoveryCodesMade, Actor: s.Actor(), Subject: s.OwnerID})
	return codes, err
}

func newRecoveryCode() string {
	random := make([]byte, recoveryBytes)
	rand.Read(random) // never fails: the program ends first
	text := crockford.EncodeToString(random)
	var groups []string
	for ; text != ""; text = text[recoveryGroup:] {
		groups = append(groups, text[:recoveryGroup])
	}
	return strings.Join(groups, "-")
}

// plainCode reads a code as people write it down.
func plainCode(text string) string {
	return strings.NewReplacer("i", "1", "l", "1", "o", "0", "-", "", " ", "").Replace(strings.ToLower(text))
}

// SignInByRecoveryCode uses a code up and opens a session. Codes: unauthorized,
// rate_limited, not_found where the node has no owner yet.
func (a *Access) SignInByRecoveryCode(ctx context.Context, client Client, code string) (cookie string, s Session, err error) {
	g, err := a.owner.take(ctx, byRecoveryCode)
	if err != nil {
		return "", Session{}, err
	}
	right := false
	err = a.db.InTx(context.WithoutCancel(ctx), func(tx node.Tx) error {
		right, err = a.store.UseRecoveryCode(tx, hashOf(plainCode(code)))
		if err != nil {
			return err
		}
		if !right {
			return a.owner.recordWrong(tx, stranger, g, "")
		}
		if err := a.owner.forget(tx, g); err != nil {
			return err
		}
		if cookie, s, err = a.open(tx, g.owner, HowRecovery, client); err != nil {
			return err
		}
		return a.log.Append(tx, audit.Event{Type: audit.OwnerRecoveryCodeUsed, Actor: s.Actor(), Subject: s.OwnerID})
	})
	if err == nil && !right {
		err = node.Errorf(node.Unauthorized, "This is none of your recovery codes, or it was used already.")
	}
	return cookie, s, err
}
