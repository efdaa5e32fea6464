package approvals

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"agentlink/node"
)

// Hash is the approval hash: HMAC-SHA256 over the canonical JSON of
// {"action", "parameters"}, in 64 hexadecimal characters. Code: bad_request for
// parameters with a number beyond ±(2^53 − 1), since two of those could share
// one canonical form, and so one hash.
func (s *Service) Hash(action string, parameters json.RawMessage) (string, error) {
	_, hash, err := s.bind(action, parameters)
	return hash, err
}

// bind gives the canonical form of the parameters and the hash over it.
func (s *Service) bind(action string, parameters json.RawMessage) (json.RawMessage, string, error) {
	var value any
	if err := node.Decode(parameters, &value); err != nil {
		return nil, "", err
	}
	canonical, err := node.Canonical(parameters)
	if err != nil {
		return nil, "", node.Wrap(err, "canonicalise the parameters of an approval")
	}
	bound, err := node.Canonical(map[string]any{"action": action, "parameters": json.RawMessage(canonical)})
	if err != nil {
		return nil, "", node.Wrap(err, "canonicalise an approval")
	}
	return canonical, mac(s.HashKey, bound), nil
}

func mac(key, data []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }

// rowMAC covers every field of the row but the note.
func (s *Service) rowMAC(a Approval) string {
	return mac(s.MACKey, node.MustCanonical(map[string]any{
		"id": a.ID, "owner": a.OwnerID, "agent": a.AgentID, "kind": a.Kind, "action": a.Action,
		"connection": a.ConnectionID, "contact": a.Contact, "task": a.TaskUID, "subject": a.Subject,
		"hash": a.Hash, "held": a.Held, "acceptedDigest": a.AcceptedDigest, "onApproval": a.OnApproval,
		"status": a.Status, "override": a.Override, "repeat": a.Repeat, "automatic": a.Automatic,
		"salt": a.Salt, "epoch": a.Epoch, "createdAt": micros(a.CreatedAt),
		"expiresAt": micros(a.ExpiresAt), "decidedAt": micros(a.DecidedAt),
	}))
}

// micros is 0 for the zero time, whose own number no double can hold.
func micros(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMicro()
}

// intact says whether the row is as this node wrote it. It does not recompute
// the hash.
func (s *Service) intact(a Approval) bool { return !a.Damaged && same(a.MAC, s.rowMAC(a)) }

// genuine says whether row and parameters are as this node wrote them.
func (s *Service) genuine(a Approval) bool {
	if !s.intact(a) {
		return false
	}
	hash, err := s.Hash(a.Action, a.Parameters)
	return err == nil && same(hash, a.Hash)
}

// newSalt is 128 random bits, in hexadecimal.
func newSalt() string {
	var salt [16]byte
	rand.Read(salt[:]) // never fails: the program ends first
	return hex.EncodeToString(salt[:])
}
