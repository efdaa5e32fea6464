package policy

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"agentlink/node"
)

// keyPrefix begins every agent's key, so that a leaked one is recognised.
const keyPrefix = "alk_"

// newKey makes an agent's key of 32 random bytes: alk_ and 43 base64url
// characters.
func newKey() (key, hash string) {
	var random [32]byte
	rand.Read(random[:]) // never fails
	key = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	return key, keyHash(key)
}

// keyHash needs no slow hash: a key has 256 random bits.
func keyHash(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// Authenticate checks an agent's id (or handle) and key. Code: unauthorized for
// unknown, wrong and disabled alike.
func (s *Service) Authenticate(tx node.Tx, client, key string) (Agent, error) {
	agent, err := s.client(tx, client)
	if err != nil {
		return Agent{}, err
	}
	// An unknown agent has no hash, so the comparison below fails for it as it
	// does for a wrong key.
	right := subtle.ConstantTimeCompare([]byte(keyHash(key)), []byte(agent.KeyHash))
	enabled := subtle.ConstantTimeCompare([]byte(agent.Status), []byte(Active))
	if right&enabled != 1 {
		return Agent{}, node.Errorf(node.Unauthorized, "The agent is unknown or disabled, or its key is wrong.")
	}
	return agent, nil
}

// AuthenticateKey finds the agent of a key. Code: unauthorized for unknown and
// disabled alike. The look-up is by the key's hash, so its time tells nothing
// that a guess of 256 bits could use.
func (s *Service) AuthenticateKey(tx node.Tx, key string) (Agent, error) {
	agent, err := s.Store.AgentByKeyHash(tx, keyHash(key))
	if node.CodeOf(err) == node.NotFound || (err == nil && agent.Status != Active) {
		return Agent{}, node.Errorf(node.Unauthorized, "The agent is unknown or disabled, or its key is wrong.")
	}
	return agent, err
}

// IsKey says whether a text looks like an agent's key.
func IsKey(text string) bool { return strings.HasPrefix(text, keyPrefix) }

// client is the zero agent where there is none.
func (s *Service) client(tx node.Tx, client string) (Agent, error) {
	if !node.ValidHandle(client) {
		return Agent{}, nil
	}
	agent, err := s.Store.AgentByClient(tx, client)
	if node.CodeOf(err) == node.NotFound {
		return Agent{}, nil
	}
	return agent, err
}
