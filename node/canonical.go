package node

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/gowebpki/jcs"
)

// Canonical is the canonical JSON (RFC 8785) of a value.
func Canonical(value any) ([]byte, error) {
	raw, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		return nil, fmt.Errorf("marshal: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return nil, fmt.Errorf("canonicalise: %w", err)
	}
	return canonical, nil
}

// MustCanonical is Canonical for values that the node built itself.
func MustCanonical(value any) []byte {
	canonical, err := Canonical(value)
	if err != nil {
		panic(err)
	}
	return canonical
}
