package actions

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/token"
)

// Receipt is the claims of a signed statement that an approved action ran, kind
// token.Receipt. Who holds it learns no parameter: Digest is SHA-256 over the
// canonical JSON of {"action", "parameters", "salt"}, in hexadecimal.
type Receipt struct {
	Iss        string    `json:"iss"` // fingerprint of the node's key
	ApprovalID string    `json:"approvalId"`
	Action     string    `json:"action"`
	Decision   string    `json:"decision"` // "approved" by the owner, or "automatic" under an allow grant
	Digest     string    `json:"digest"`
	DecidedAt  time.Time `json:"decidedAt"`
	ExecutedAt time.Time `json:"executedAt"` // when the run was reserved
	RunID      string    `json:"runId"`
	Code       string    `json:"code,omitempty"`
	Simulated  bool      `json:"simulated,omitempty"` // nothing outside the node was touched
	Position   int64     `json:"position"`            // of the run's row in the node's audit log
	Iat        int64     `json:"iat"`                 // seconds since 1970
}

// The decisions that a receipt states.
const (
	DecisionApproved  = "approved"
	DecisionAutomatic = "automatic"
)

// receipt states a run that succeeded; "" for any other.
func (s *Service) receipt(tx node.Tx, run Run, position int64) (string, error) {
	if run.State != Succeeded {
		return "", nil
	}
	approval, err := s.Approvals.Approval(tx, run.AgentID, run.ApprovalID)
	if err != nil {
		return "", err
	}
	digest, err := ReceiptDigest(run.Action, run.Parameters, run.Salt)
	if err != nil {
		return "", err
	}
	decision := DecisionApproved
	if run.Automatic {
		decision = DecisionAutomatic
	}
	return s.SignReceipt(Receipt{
		Iss: s.Issuer(), ApprovalID: run.ApprovalID, Action: run.Action, Decision: decision, Digest: digest,
		DecidedAt: approval.DecidedAt, ExecutedAt: run.ReservedAt, RunID: run.ID, Code: run.Code,
		Simulated: run.Simulated, Position: position, Iat: tx.Now().Unix(),
	})
}

// ReceiptDigest is what stands in a receipt for the parameters.
func ReceiptDigest(action string, parameters json.RawMessage, salt string) (string, error) {
	canonical, err := node.Canonical(map[string]any{"action": action, "parameters": parameters, "salt": salt})
	if err != nil {
		return "", node.Wrap(err, "digest the parameters of a receipt")
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// ReceiptFile is a receipt as it is kept in a file and verified offline, JSON:
//
//	{
//	  "receipt":    "eyJ…",          the compact JWS
//	  "publicKey":  "q83v…",         the node's Ed25519 key, 32 bytes, base64url without padding
//	  "parameters": {"venue": …},    optional, with salt: what ran
//	  "salt":       "0f3a…"          optional, 32 hexadecimal characters
//	}
//
// The key is trusted no further than its fingerprint, which the reader compares
// with the one that they know the node by. Without parameters and salt the
// receipt is verified all the same, and says nothing of what ran with them.
type ReceiptFile struct {
	Receipt    string          `json:"receipt"`
	PublicKey  string          `json:"publicKey"`
	Parameters json.RawMessage `json:"parameters,omitempty"`
	Salt       string          `json:"salt,omitempty"`
}

// VerifiedReceipt is a receipt whose signature fits.
type VerifiedReceipt struct {
	Receipt
	// Fingerprint of the key that signed it, to be compared by the reader.
	Fingerprint string `json:"fingerprint"`
	// ParametersMatch: parameters and salt were given, and they are what ran.
	ParametersMatch bool `json:"parametersMatch"`
}

// VerifyReceipt verifies the content of a receipt file. fingerprint, where not
// "", is the one that the key must have. Codes: bad_request for a file that is
// none, unauthorized where signature, key or parameters do not fit.
func VerifyReceipt(file []byte, fingerprint string) (VerifiedReceipt, error) {
	var f ReceiptFile
	if err := node.Decode(file, &f); err != nil {
		return VerifiedReceipt{}, err
	}
	key, err := f.key()
	if err != nil {
		return VerifiedReceipt{}, err
	}
	verified := VerifiedReceipt{Fingerprint: token.Fingerprint(key)}
	if known := ungrouped(fingerprint); known != "" && known != verified.Fingerprint {
		return VerifiedReceipt{}, node.Errorf(node.Unauthorized, "The receipt is signed with another key: its fingerprint is %s.", verified.Fingerprint)
	}
	if err := token.Open(token.Receipt, key, f.Receipt, &verified.Receipt); err != nil {
		return VerifiedReceipt{}, err
	}
	if verified.Iss != verified.Fingerprint {
		return VerifiedReceipt{}, node.Errorf(node.Unauthorized, "The receipt names another issuer than the one who signed it.")
	}
	verified.ParametersMatch, err = f.matches(verified.Receipt)
	return verified, err
}

// ungrouped is a fingerprint as people write it, in groups and in either case,
// as tokens carry it.
func ungrouped(fingerprint string) string {
	return strings.ToLower(strings.Join(strings.Fields(fingerprint), ""))
}

func (f ReceiptFile) key() (ed25519.PublicKey, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(f.PublicKey)
	if err != nil {
		return nil, node.BadFields(node.Field{Field: "publicKey", Problem: "must be 32 bytes in base64url"})
	}
	return token.ParseKey(raw)
}

// matches compares what was given with what the receipt states.
func (f ReceiptFile) matches(receipt Receipt) (bool, error) {
	if len(f.Parameters) == 0 && f.Salt == "" {
		return false, nil
	}
	if len(f.Parameters) == 0 || f.Salt == "" {
		return false, node.BadFields(node.Field{Field: "salt", Problem: "and parameters have to be given together"})
	}
	digest, err := ReceiptDigest(receipt.Action, f.Parameters, f.Salt)
	if err != nil {
		return false, err
	}
	if digest != receipt.Digest {
		return false, node.Errorf(node.Unauthorized, "The receipt is genuine, but these parameters are not what ran.")
	}
	return true, nil
}
