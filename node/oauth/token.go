package oauth

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-oauth2/oauth2/v4"

	liberrors "github.com/go-oauth2/oauth2/v4/errors"

	"agentlink/node"
	"agentlink/node/audit"
)

// Grants are the values of grant_type that Token takes.
var Grants = []string{oauth2.AuthorizationCode.String(), oauth2.Refreshing.String()}

// Credentials are a client's. Whether they came in the header or in the form makes
// no difference, although a client says beforehand which it will be: some do the
// other, and nothing is won by refusing it.
type Credentials struct{ ClientID, Secret string }

// TokenRequest is what a client sends to the token endpoint, each field once.
type TokenRequest struct {
	Credentials
	Grant        string
	Code         string
	RedirectURI  string
	CodeVerifier string
	Refresh      string
	Resource     string
}

// Tokens is the answer of RFC 6749 §5.1.
type Tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"` // seconds
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
}

// Refusal is the answer of RFC 6749 §5.2.
type Refusal struct {
	Status      int    `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

// The refusals. None tells more of a secret than that it is worth nothing.
var (
	InvalidClient  = Refusal{http.StatusUnauthorized, "invalid_client", "This client is not known here, or it showed another secret than its own. Register again."}
	InvalidGrant   = Refusal{http.StatusBadRequest, "invalid_grant", "The code or refresh token is wrong, used, over or revoked, or belongs to other parameters. Ask the owner again."}
	InvalidRequest = Refusal{http.StatusBadRequest, "invalid_request", "The request is not complete, or says something twice."}
	InvalidTarget  = Refusal{http.StatusBadRequest, "invalid_target", "The resource is none of this node, or not the one that was asked for before."}
	Unsupported    = Refusal{http.StatusBadRequest, "unsupported_grant_type", "The grant_type is none that is served here."}
)

// Token changes a code or a refresh token for tokens. A refusal is a value: what
// it has written, as the end of an authorization whose secret came twice, has to
// stay.
func (s *Service) Token(tx node.Tx, r TokenRequest) (Tokens, *Refusal, error) {
	grant := oauth2.GrantType(r.Grant)
	if missing(grant, r) {
		return Tokens{}, &InvalidRequest, nil
	}
	resource, ok := s.resourceOf(r.Resource, "")
	if !ok {
		return Tokens{}, &InvalidTarget, nil
	}
	if r.Resource == "" {
		resource = ""
	}
	c, refusal, err := s.authenticate(tx, r.Credentials)
	if refusal != nil || err != nil {
		return Tokens{}, refusal, err
	}
	e := &exchange{Service: s, tx: tx, client: c, secret: r.Secret, redirect: r.RedirectURI, resource: resource}
	return e.run(grant, r)
}

func missing(grant oauth2.GrantType, r TokenRequest) bool {
	if grant == oauth2.Refreshing {
		return r.Refresh == ""
	}
	return r.Code == "" || r.CodeVerifier == ""
}

// authenticate finds the client, and checks its secret for every grant: the
// library does not when it refreshes.
func (s *Service) authenticate(tx node.Tx, given Credentials) (Client, *Refusal, error) {
	c, err := s.Store.OAuthClient(tx, bounded(given.ClientID))
	if err != nil {
		return Client{}, &InvalidClient, except(node.NotFound, err)
	}
	if !(&clientInfo{hash: c.SecretHash}).VerifyPassword(given.Secret) {
		return Client{}, &InvalidClient, nil
	}
	return c, nil, nil
}

func (e *exchange) run(grant oauth2.GrantType, r TokenRequest) (Tokens, *Refusal, error) {
	library := e.server()
	info, err := library.GetAccessToken(e.tx.Context(), grant, &oauth2.TokenGenerateRequest{
		ClientID: e.client.ID, ClientSecret: e.secret, RedirectURI: e.redirect,
		Code: r.Code, CodeVerifier: r.CodeVerifier, Refresh: r.Refresh,
	})
	if err != nil {
		return Tokens{}, refusalOf(err), unlessRefused(err)
	}
	data := library.GetTokenData(info)
	t := Tokens{TokenType: "Bearer", ExpiresIn: int64(AccessTime.Seconds()), Scope: Scope}
	t.AccessToken, _ = data["access_token"].(string)
	t.RefreshToken, _ = data["refresh_token"].(string)
	return t, nil, nil
}

// refusals put the library's errors into those of the RFC: it gives invalid_grant
// the status 401, and some of them no code at all.
var refusals = []struct {
	err     error
	refusal *Refusal
}{
	{errTarget, &InvalidTarget},
	{liberrors.ErrInvalidClient, &InvalidClient},
	{liberrors.ErrUnsupportedGrantType, &Unsupported},
	{liberrors.ErrUnauthorizedClient, &Unsupported},
	{liberrors.ErrInvalidGrant, &InvalidGrant},
	{liberrors.ErrInvalidAuthorizeCode, &InvalidGrant},
	{liberrors.ErrInvalidRefreshToken, &InvalidGrant},
	{liberrors.ErrExpiredRefreshToken, &InvalidGrant},
	{liberrors.ErrInvalidCodeChallenge, &InvalidGrant},
	{liberrors.ErrMissingCodeChallenge, &InvalidGrant},
	{liberrors.ErrMissingCodeVerifier, &InvalidGrant},
}

// refusalOf is nil for what is no refusal.
func refusalOf(err error) *Refusal {
	for _, r := range refusals {
		if errors.Is(err, r.err) {
			return r.refusal
		}
	}
	return nil
}

func unlessRefused(err error) error {
	if refusalOf(err) != nil {
		return nil
	}
	return err
}

// RevokeToken ends the authorization that a token of this client belongs to (RFC
// 7009). A token that is worth nothing is no reason to complain.
func (s *Service) RevokeToken(tx node.Tx, given Credentials, token string) (*Refusal, error) {
	c, refusal, err := s.authenticate(tx, given)
	if refusal != nil || err != nil {
		return refusal, err
	}
	if !looksLike(token, accessPrefix) && !looksLike(token, refreshPrefix) {
		return nil, nil
	}
	secret, err := s.Store.LockSecret(tx, hashOf(token))
	if err != nil {
		return nil, except(node.NotFound, err)
	}
	a, err := s.Store.Authorization(tx, secret.AuthorizationID)
	if err != nil || a.ClientID != c.ID {
		return nil, err
	}
	ended, err := s.Store.EndAuthorization(tx, a.ID, tx.Now())
	if err != nil || !ended {
		return nil, err
	}
	return nil, s.note(tx, audit.ClientRevoked, node.Actor{Kind: node.ActorAgent, OwnerID: a.OwnerID}, a, c)
}

// IsAccess says whether a bearer's text has the form of an access token of a
// client.
func IsAccess(token string) bool { return strings.HasPrefix(token, accessPrefix) }
