package oauth

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/models"

	liberrors "github.com/go-oauth2/oauth2/v4/errors"

	"agentlink/node"
	"agentlink/node/audit"
)

// exchange is one request as the library sees it: all that it reads and writes
// goes through one transaction of ours. It is made anew for each request.
type exchange struct {
	*Service
	tx     node.Tx
	client Client
	secret string // that the client showed
	// redirect is the address that the client names again, "" where it does not.
	redirect string
	// resource is what the client asks for, "" for what it was given.
	resource string
	// authorization is what this is about, once it is known.
	authorization Authorization
}

var (
	_ oauth2.ClientStore = (*exchange)(nil)
	_ oauth2.TokenStore  = (*exchange)(nil)
)

// forever keeps the library's own clock from judging: times are judged here, by
// the transaction's.
const forever = time.Duration(math.MaxInt64)

// GetByID implements oauth2.ClientStore.
func (e *exchange) GetByID(_ context.Context, id string) (oauth2.ClientInfo, error) {
	if id != e.client.ID {
		return nil, liberrors.ErrInvalidClient
	}
	return &clientInfo{Client: models.Client{ID: id, Public: e.client.SecretHash == ""}, hash: e.client.SecretHash}, nil
}

// Create implements oauth2.TokenStore: it keeps what was issued, by its hash.
func (e *exchange) Create(_ context.Context, info oauth2.TokenInfo) error {
	now := e.tx.Now()
	if code := info.GetCode(); code != "" {
		return e.Store.InsertSecret(e.tx, Secret{
			Hash: hashOf(code), Kind: KindCode, AuthorizationID: info.GetUserID(), CreatedAt: now, ExpiresAt: now.Add(CodeTime),
			RedirectURI: info.GetRedirectURI(), Challenge: info.GetCodeChallenge(),
		})
	}
	if err := e.used(now); err != nil {
		return err
	}
	for _, s := range []Secret{
		{Hash: hashOf(info.GetAccess()), Kind: KindAccess, ExpiresAt: e.within(now.Add(AccessTime))},
		{Hash: hashOf(info.GetRefresh()), Kind: KindRefresh, ExpiresAt: e.within(now.Add(RefreshTime))},
	} {
		s.AuthorizationID, s.CreatedAt = info.GetUserID(), now
		if err := e.Store.InsertSecret(e.tx, s); err != nil {
			return err
		}
	}
	return nil
}

// within bounds a time by the end of the authorization.
func (e *exchange) within(at time.Time) time.Time {
	if end := e.authorization.CreatedAt.Add(AuthorizationTime); at.After(end) {
		return end
	}
	return at
}

// used notes that the authorization is in use, and forgets what is over for long.
func (e *exchange) used(now time.Time) error {
	id := e.authorization.ID
	alive, err := e.Store.UseAuthorization(e.tx, id, now, e.within(now.Add(RefreshTime)))
	if err != nil {
		return err
	}
	if !alive { // revoked since it was read
		return liberrors.ErrInvalidGrant
	}
	return e.Store.ForgetSecrets(e.tx, id, now.Add(-keepSpent))
}

// GetByCode implements oauth2.TokenStore. nil says that the code is worth nothing.
func (e *exchange) GetByCode(_ context.Context, code string) (oauth2.TokenInfo, error) {
	s, err := e.take(code, codePrefix, KindCode)
	if err != nil || s == nil {
		return nil, err
	}
	if e.redirect == "" { // OAuth 2.1 has PKCE in its place; the library compares with what is given here
		s.RedirectURI = ""
	}
	return &models.Token{
		Code: code, ClientID: e.client.ID, UserID: s.AuthorizationID, RedirectURI: s.RedirectURI, Scope: Scope,
		CodeChallenge: s.Challenge, CodeChallengeMethod: oauth2.CodeChallengeS256.String(), CodeCreateAt: e.tx.Now(), CodeExpiresIn: forever,
	}, nil
}

// GetByRefresh implements oauth2.TokenStore. nil says that the token is worth
// nothing.
func (e *exchange) GetByRefresh(_ context.Context, refresh string) (oauth2.TokenInfo, error) {
	s, err := e.take(refresh, refreshPrefix, KindRefresh)
	if err != nil || s == nil {
		return nil, err
	}
	return &models.Token{
		Refresh: refresh, ClientID: e.client.ID, UserID: s.AuthorizationID, Scope: Scope,
		RefreshCreateAt: e.tx.Now(), RefreshExpiresIn: forever,
	}, nil
}

// take finds a secret that this client may use now. One that was used before has
// been stolen, or its thief was faster: nobody can tell, and so the whole
// authorization ends.
func (e *exchange) take(text, prefix string, kind Kind) (*Secret, error) {
	if !looksLike(text, prefix) {
		return nil, nil
	}
	s, err := e.Store.LockSecret(e.tx, hashOf(text))
	if err != nil || s.Kind != kind {
		return nil, except(node.NotFound, err)
	}
	a, err := e.Store.Authorization(e.tx, s.AuthorizationID)
	if err != nil || a.ClientID != e.client.ID {
		return nil, err
	}
	if !s.UsedAt.IsZero() {
		return nil, e.reused(a)
	}
	switch {
	case !e.tx.Now().Before(s.ExpiresAt), a.Status == Revoked, !a.AgentActive:
		return nil, nil
	case e.resource != "" && e.resource != a.Resource:
		return nil, errTarget
	}
	e.authorization = a
	return &s, nil
}

var errTarget = errors.New("invalid_target")

func (e *exchange) reused(a Authorization) error {
	ended, err := e.Store.EndAuthorization(e.tx, a.ID, e.tx.Now())
	if err != nil || !ended {
		return err
	}
	return e.note(e.tx, audit.ClientReused, node.Actor{Kind: node.ActorNode, OwnerID: a.OwnerID}, a, e.client)
}

// RemoveByCode implements oauth2.TokenStore.
func (e *exchange) RemoveByCode(_ context.Context, code string) error { return e.spend(code) }

// RemoveByRefresh implements oauth2.TokenStore.
func (e *exchange) RemoveByRefresh(_ context.Context, refresh string) error { return e.spend(refresh) }

func (e *exchange) spend(secret string) error {
	spent, err := e.Store.SpendSecret(e.tx, hashOf(secret), e.tx.Now())
	if err == nil && !spent { // impossible while the row is locked
		err = node.ConflictFor(node.ReasonBadState, "The secret was used meanwhile.")
	}
	return err
}

// errNotHere is what the library gets where it would open access tokens: Check
// alone does.
var errNotHere = node.Errorf(node.Internal, "Access tokens are opened elsewhere.")

// GetByAccess implements oauth2.TokenStore.
func (e *exchange) GetByAccess(context.Context, string) (oauth2.TokenInfo, error) {
	return nil, errNotHere
}

// RemoveByAccess implements oauth2.TokenStore.
func (e *exchange) RemoveByAccess(context.Context, string) error { return errNotHere }
