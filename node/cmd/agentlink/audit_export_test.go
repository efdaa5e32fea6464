package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/store/storetest"
	"agentlink/node/token"
)

// exported is the log of a node with one row, and what its head says.
func exported(t *testing.T, signer *token.Signer, change func(*audit.ExportHead, *audit.HeadClaims)) string {
	t.Helper()
	s := storetest.OpenMemory(t)
	log := audit.New(s, bytes.Repeat([]byte{1}, 32))
	err := s.InTx(t.Context(), func(tx node.Tx) error {
		return log.Append(tx, audit.Event{Type: audit.NodeStarted, Actor: node.Actor{Kind: node.ActorNode}})
	})
	if err != nil {
		t.Fatal(err)
	}
	var head audit.Head
	if err := s.View(t.Context(), func(tx node.Tx) (err error) { head, err = s.AuditHead(tx); return err }); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	line := audit.ExportHead{
		Format: audit.ExportFormat, Host: "ada.example", Fingerprint: signer.Fingerprint(), ExportedAt: at,
		PublicKey: base64.RawURLEncoding.EncodeToString(signer.PublicKey()), Rows: head.Position, Hash: head.Hash,
	}
	claims := audit.HeadClaims{Iss: signer.Fingerprint(), Rows: head.Position, Hash: head.Hash, Iat: at.Unix()}
	change(&line, &claims)
	if line.Signature == "" {
		if line.Signature, err = signer.Sign(token.AuditHead, claims); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := log.Export(t.Context(), s, line, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func newSigner(seed byte) *token.Signer {
	return token.NewSigner(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize)))
}

// TestReadExport: who signed an exported log is proven, or it does not count.
func TestReadExport(t *testing.T) {
	t.Parallel()
	signer, other := newSigner(1), newSigner(2)
	receipt, err := signer.Sign(token.Receipt, audit.HeadClaims{Iss: signer.Fingerprint(), Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	const unsigned = "the head was not signed by the node that it names"
	for name, test := range map[string]struct {
		change  func(*audit.ExportHead, *audit.HeadClaims)
		problem string
	}{
		"genuine":        {func(*audit.ExportHead, *audit.HeadClaims) {}, ""},
		"another length": {func(_ *audit.ExportHead, c *audit.HeadClaims) { c.Rows = 2 }, unsigned},
		"another hash":   {func(_ *audit.ExportHead, c *audit.HeadClaims) { c.Hash = audit.GenesisHash }, unsigned},
		"another issuer": {func(_ *audit.ExportHead, c *audit.HeadClaims) { c.Iss = other.Fingerprint() }, unsigned},
		"another node":   {func(h *audit.ExportHead, _ *audit.HeadClaims) { h.Fingerprint = other.Fingerprint() }, unsigned},
		"another key": {func(h *audit.ExportHead, _ *audit.HeadClaims) {
			h.PublicKey = base64.RawURLEncoding.EncodeToString(other.PublicKey())
		}, unsigned},
		"no key":            {func(h *audit.ExportHead, _ *audit.HeadClaims) { h.PublicKey = "AAAA" }, unsigned},
		"another signature": {func(h *audit.ExportHead, _ *audit.HeadClaims) { h.Signature = receipt }, unsigned},
		"a row too many":    {func(h *audit.ExportHead, c *audit.HeadClaims) { h.Rows, c.Rows = 2, 2 }, "the file ends at row 1, its head says 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readExport(strings.NewReader(exported(t, signer, test.change)))
			if err != nil || got.Problem != test.problem {
				t.Errorf("%+v, %v, want %q", got, err, test.problem)
			}
			if got.OK() && got.Fingerprint != signer.Fingerprint() {
				t.Errorf("signed by %s", got.Fingerprint)
			}
		})
	}
	if _, err := readExport(strings.NewReader("{}")); node.CodeOf(err) != node.BadRequest {
		t.Errorf("no export gives %v", err)
	}
}
