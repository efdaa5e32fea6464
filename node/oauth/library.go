package oauth

import (
	"context"
	"crypto/subtle"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/manage"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"

	liberrors "github.com/go-oauth2/oauth2/v4/errors"
)

// server is the library with every default closed that is looser than OAuth 2.1.
func (e *exchange) server() *server.Server {
	m := manage.NewManager()
	m.MapClientStorage(e)
	m.MapTokenStorage(e)
	m.MapAuthorizeGenerate(codes{})
	m.MapAccessGenerate(tokens{})
	m.SetAuthorizeCodeExp(CodeTime)
	m.SetAuthorizeCodeTokenCfg(&manage.Config{AccessTokenExp: AccessTime, RefreshTokenExp: RefreshTime, IsGenerateRefresh: true})
	// An access token is left to end by itself: a call may be on its way with it.
	m.SetRefreshTokenCfg(&manage.RefreshingConfig{
		AccessTokenExp: AccessTime, RefreshTokenExp: RefreshTime, IsGenerateRefresh: true, IsResetRefreshTime: true, IsRemoveRefreshing: true,
	})
	m.SetValidateURIHandler(func(_, redirect string) error {
		if !e.client.matches(redirect) {
			return liberrors.ErrInvalidGrant
		}
		return nil
	})
	return server.NewServer(&server.Config{
		TokenType: "Bearer", AllowedResponseTypes: []oauth2.ResponseType{oauth2.Code},
		AllowedGrantTypes:           []oauth2.GrantType{oauth2.AuthorizationCode, oauth2.Refreshing},
		AllowedCodeChallengeMethods: []oauth2.CodeChallengeMethod{oauth2.CodeChallengeS256}, ForcePKCE: true,
	}, m)
}

// clientInfo is a client as the library sees it.
type clientInfo struct {
	models.Client
	hash string
}

// VerifyPassword implements oauth2.ClientPasswordVerifier. A public client must
// show nothing.
func (c *clientInfo) VerifyPassword(secret string) bool {
	if c.hash == "" {
		return secret == ""
	}
	return subtle.ConstantTimeCompare([]byte(c.hash), []byte(hashOf(secret))) == 1
}

// codes and tokens make secrets; the library's own are UUIDs hashed with what
// the client knows.
type (
	codes  struct{}
	tokens struct{}
)

var (
	_ oauth2.AuthorizeGenerate = codes{}
	_ oauth2.AccessGenerate    = tokens{}
)

// Token implements oauth2.AuthorizeGenerate.
func (codes) Token(context.Context, *oauth2.GenerateBasic) (string, error) {
	return newSecret(codePrefix), nil
}

// Token implements oauth2.AccessGenerate.
func (tokens) Token(context.Context, *oauth2.GenerateBasic, bool) (access, refresh string, err error) {
	return newSecret(accessPrefix), newSecret(refreshPrefix), nil
}
