package oauth

import (
	"agentlink/node"
	"agentlink/node/audit"
)

// errUnauthorized is the same for every token that opens nothing.
func errUnauthorized() *node.Error {
	return node.Errorf(node.Unauthorized, "The access token is wrong, over or revoked. Refresh it, or ask the owner again.")
}

// Check tells what an access token opens: /mcp, as one agent. It is one look-up by
// the token's hash, whatever comes of it. Code: unauthorized.
//
// A replaced key of the agent changes nothing: the client never had it, and the
// owner revokes clients by themselves.
func (s *Service) Check(tx node.Tx, token string) (Access, error) {
	if !looksLike(token, accessPrefix) {
		return Access{}, errUnauthorized()
	}
	access, err := s.Store.OAuthAccess(tx, hashOf(token), tx.Now())
	if err != nil && node.CodeOf(err) == node.NotFound {
		return Access{}, errUnauthorized()
	}
	return access, err
}

// Clients lists the clients that act as an agent, the newest first.
func (s *Service) Clients(tx node.Tx, agentID string) ([]Connected, error) {
	return s.Store.Authorizations(tx, agentID)
}

// Revoke ends what the owner has approved: its tokens open nothing from now on.
// Code: not_found where it is none of the agent's, or over.
func (s *Service) Revoke(tx node.Tx, actor node.Actor, agentID, id string) (Connected, error) {
	connected, err := s.Store.Authorizations(tx, agentID)
	if err != nil {
		return Connected{}, err
	}
	for _, c := range connected {
		if c.ID != id {
			continue
		}
		ended, err := s.Store.EndAuthorization(tx, id, tx.Now())
		if err != nil {
			return Connected{}, err
		}
		if ended {
			return c, s.note(tx, audit.ClientRevoked, actor, c.Authorization, c.Client)
		}
	}
	return Connected{}, node.Errorf(node.NotFound, "This program is not connected any more.")
}
