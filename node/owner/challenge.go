package owner

import (
	"crypto/hmac"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"time"

	"agentlink/node"
)

// A challenge is what an authenticator signs: 16 random bytes, the time when it
// is over, and a MAC over both, over what it is for and over the address. The
// node need not remember it to know it again, so that asking for challenges
// fills nothing up; it remembers those that were spent, until they are over.
const (
	ChallengeTime   = 5 * time.Minute
	challengeRandom = 16
	challengeTimed  = challengeRandom + 8
	challengeSize   = challengeTimed + 32
)

// What a challenge is for. Within a session it is for that session alone.
const signingIn = "sign in"

func confirming(s Session) string { return "confirm " + s.ID }
func adding(s Session) string     { return "add " + s.ID }

func (a *Access) newChallenge(tx node.Tx, purpose string, site Site) []byte {
	challenge := make([]byte, challengeRandom, challengeSize)
	rand.Read(challenge) // never fails: the program ends first
	challenge = binary.BigEndian.AppendUint64(challenge, uint64(tx.Now().Add(ChallengeTime).UnixMicro()))
	return append(challenge, a.challengeMAC(challenge, purpose, site)...)
}

func (a *Access) challengeMAC(timed []byte, purpose string, site Site) []byte {
	return a.mac("challenge", purpose, site.Party(), string(timed))
}

// spendChallenge takes a challenge as it came back, base64url, and uses it up.
// why is "" when it was good.
func (a *Access) spendChallenge(tx node.Tx, encoded, purpose string, site Site) (why string, err error) {
	challenge, decodeErr := base64.RawURLEncoding.DecodeString(encoded)
	if decodeErr != nil || len(challenge) != challengeSize ||
		!hmac.Equal(challenge[challengeTimed:], a.challengeMAC(challenge[:challengeTimed], purpose, site)) {
		return "unknown challenge", nil
	}
	over := time.UnixMicro(int64(binary.BigEndian.Uint64(challenge[challengeRandom:challengeTimed])))
	if !tx.Now().Before(over) {
		return "challenge is over", nil
	}
	first, err := a.store.SpendChallenge(tx, hashOf(string(challenge)), over)
	if err == nil && !first {
		why = "challenge was used"
	}
	return why, err
}
