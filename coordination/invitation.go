package coordination

import (
	"crypto/rand"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// An invitation link is https://host/#handle@host/fingerprint/secret: what
// stands behind # is never sent to a server by a browser that opens it.

// InvitationLife is how long an invitation can be used, once.
const InvitationLife = 7 * 24 * time.Hour

const secretBytes = 16

// target is what a ConnectRequest points at.
type target struct {
	address     node.Address
	fingerprint string
	secret      string
}

func parseTarget(request ConnectRequest) (target, error) {
	if err := checkNote(request.Note); err != nil {
		return target{}, err
	}
	if (request.Address == "") == (request.Invitation == "") {
		return target{}, node.BadFields(node.Field{Field: "address", Problem: "or invitation is required, not both"})
	}
	if request.Address != "" {
		address, err := node.ParseAddress(request.Address)
		return target{address: address}, err
	}
	return parseInvitation(request.Invitation)
}

func parseInvitation(link string) (target, error) {
	bad := node.BadFields(node.Field{Field: "invitation", Problem: "is not an invitation link"})
	parsed, err := url.Parse(link)
	if err != nil || len(link) > 1024 {
		return target{}, bad
	}
	parts := strings.Split(parsed.Fragment, "/")
	if len(parts) != 3 || len(parts[1]) != fingerprintLength || len(parts[2]) != base64.RawURLEncoding.EncodedLen(secretBytes) {
		return target{}, bad
	}
	address, err := node.ParseAddress(parts[0])
	if err != nil {
		return target{}, bad
	}
	return target{address: address, fingerprint: parts[1], secret: parts[2]}, nil
}

const fingerprintLength = 52 // SHA-256 in base32

// Invite makes an invitation for one agent: a link with its address, the node's
// fingerprint and a 128-bit secret, of which only the hash is kept.
func (s *Service) Invite(tx node.Tx, actor node.Actor, agentID string) (Invitation, string, error) {
	agent, err := s.Agents.Agent(tx, agentID)
	if err != nil {
		return Invitation{}, "", err
	}
	random := make([]byte, secretBytes)
	rand.Read(random)
	secret := base64.RawURLEncoding.EncodeToString(random)
	invitation := Invitation{
		ID: s.IDs.New(), OwnerID: agent.OwnerID, AgentID: agent.ID, SecretHash: hashSecret(secret),
		ExpiresAt: tx.Now().Add(InvitationLife), CreatedAt: tx.Now(),
	}
	if err := s.Store.InsertInvitation(tx, invitation); err != nil {
		return Invitation{}, "", err
	}
	fingerprint, _, err := s.today(tx)
	if err != nil {
		return Invitation{}, "", err
	}
	scheme := "https"
	if node.IsLoopback(s.Self.Host) {
		scheme = "http"
	}
	link := scheme + "://" + s.Self.Host + "/#" + s.address(agent) + "/" + fingerprint + "/" + secret
	return invitation, link, s.audit(tx, audit.Event{
		Type: audit.InvitationCreated, Actor: actor, AgentID: agent.ID, Subject: invitation.ID,
	})
}

func hashSecret(secret string) string { return sum([]byte(secret)) }
