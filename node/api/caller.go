package api

import (
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/token"
	"agentlink/policy"
)

// Tokens checks agents' access tokens.
type Tokens interface {
	// Check gives the claims of a token whose signature, kind, issuer, audience
	// and times are right.
	Check(compact string, now time.Time) (token.AccessClaims, error)
}

// Agents finds agents.
type Agents interface {
	Agent(tx node.Tx, id string) (policy.Agent, error)
}

// Caller is the agent that calls.
type Caller struct {
	Agent policy.Agent
	Actor node.Actor
}

// errUnauthorized is the same for every way of not getting in.
func errUnauthorized() *node.Error {
	return node.Errorf(node.Unauthorized, "The access token is missing, wrong, expired or no longer valid. Ask POST /oauth/token for another one.")
}

// claims reads the call's token. It touches no store.
func (d *Door) claims(call *Call) (token.AccessClaims, error) {
	if call.Claims != nil {
		return *call.Claims, nil
	}
	scheme, compact, found := strings.Cut(call.Header.Authorization, " ")
	if !found || !strings.EqualFold(scheme, "Bearer") {
		return token.AccessClaims{}, errUnauthorized()
	}
	claims, err := d.Tokens.Check(compact, d.Clock.Now())
	if err != nil || claims.Sub == "" {
		return token.AccessClaims{}, errUnauthorized()
	}
	return claims, nil
}

// caller reads status and key generation of the agent, on each request: a
// token ends with its key, and with its agent, before it expires.
func (d *Door) caller(tx node.Tx, claims token.AccessClaims) (Caller, error) {
	agent, err := d.Agents.Agent(tx, claims.Sub)
	switch {
	case node.CodeOf(err) == node.NotFound && err != nil:
		return Caller{}, errUnauthorized()
	case err != nil:
		return Caller{}, err
	case agent.Status != policy.Active || agent.KeyGeneration != claims.Gen:
		return Caller{}, errUnauthorized()
	}
	actor := node.Actor{Kind: node.ActorAgent, OwnerID: agent.OwnerID, AgentID: agent.ID}
	return Caller{Agent: agent, Actor: actor}, nil
}

// Admits is nil where the agent of a token is active and has no newer key. Code:
// unauthorized.
func (d *Door) Admits(tx node.Tx, claims token.AccessClaims) error {
	_, err := d.caller(tx, claims)
	return err
}
