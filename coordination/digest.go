package coordination

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"agentlink/node"
)

// Digest names the exact terms of a proposal: SHA-256, in hexadecimal, over the
// canonical JSON of {"author", "fields", "task", "version"}. Fields that are no
// JSON have the digest "", which matches nothing.
func Digest(uid string, author Role, version int, fields json.RawMessage) string {
	canonical, err := node.Canonical(map[string]any{
		"author": author, "fields": fields, "task": uid, "version": version,
	})
	if err != nil {
		return ""
	}
	return sum(canonical)
}

// sum is a SHA-256 in hexadecimal.
func sum(content []byte) string {
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:])
}
