package oauth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/server"

	liberrors "github.com/go-oauth2/oauth2/v4/errors"

	"agentlink/node"
	"agentlink/node/audit"
)

// Request is what a client asks the owner for, checked.
type Request struct {
	Client   Client
	Redirect string // where the answer goes
	Resource string
	state    string
	library  *server.AuthorizeRequest
}

// Problem is a request that the owner is not asked about.
type Problem struct {
	Message string
	// Back leads to the client with the error. It is "" until both client and
	// address are known to belong together, since it would lead anywhere.
	Back string
}

// maxState bounds what is carried through for the client.
const maxState = 2000

// asked are the parameters that must not come twice.
var asked = []string{"client_id", "redirect_uri", "response_type", "state", "scope", "code_challenge", "code_challenge_method", "resource"}

// Read checks the parameters of an authorization request, which came in under a
// host. A problem is a value. The client has to be known already: see Learn.
func (s *Service) Read(tx node.Tx, host string, query url.Values) (Request, *Problem, error) {
	if !once(query, asked...) {
		return Request{}, &Problem{Message: "A parameter of the request appears twice."}, nil
	}
	c, err := s.Store.OAuthClient(tx, bounded(query.Get("client_id")))
	if err != nil {
		return Request{}, &Problem{Message: "This node does not know the program. Remove the connector there and add it again."}, except(node.NotFound, err)
	}
	redirect := query.Get("redirect_uri")
	if redirect == "" && len(c.RedirectURIs) == 1 {
		redirect = c.RedirectURIs[0]
	}
	if !c.matches(redirect) {
		return Request{}, &Problem{Message: "The answer is to go to an address that the program has not registered. Do not go on."}, nil
	}
	r := Request{Client: c, Redirect: redirect, state: query.Get("state")}
	code, message := s.readRest(&r, host, query)
	if code == "" {
		return r, nil, nil
	}
	back, err := s.answer(r, host, map[string]any{"error": code, "error_description": message})
	return Request{}, &Problem{Message: message, Back: back}, err
}

func bounded(clientID string) string {
	if len(clientID) > maxClientID {
		return ""
	}
	return clientID
}

// readRest checks what may be answered to the client. It gives an error code of
// RFC 6749 §4.1.2.1, or "".
func (s *Service) readRest(r *Request, host string, query url.Values) (code, message string) {
	if len(r.state) > maxState {
		r.state = ""
		return "invalid_request", "The state is too long."
	}
	resource, ok := s.resourceOf(query.Get("resource"), s.Origin(host))
	if !ok {
		return "invalid_target", "The program asks for access to something else than this node."
	}
	r.Resource = resource
	if challenge := query.Get("code_challenge"); challenge != "" && !isS256(challenge) {
		return "invalid_request", "The code_challenge is no SHA-256."
	}
	library := (&exchange{Service: s}).server()
	// The library reads a form that was parsed, and nothing else of the request.
	parsed, err := library.ValidationAuthorizeRequest(&http.Request{Method: http.MethodGet, Form: query})
	if err != nil {
		return codeOf(err), descriptionOf(err)
	}
	r.library = parsed
	r.library.ClientID, r.library.RedirectURI, r.library.Scope, r.library.Request = r.Client.ID, r.Redirect, Scope, nil
	return "", ""
}

// isS256 says whether text is a SHA-256 in base64url without padding.
func isS256(text string) bool {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(raw) == 32
}

// codeOf is the code of RFC 6749 §4.1.2.1: the library has another one for a
// response_type that is not served.
func codeOf(err error) string {
	if errors.Is(err, liberrors.ErrUnauthorizedClient) {
		err = liberrors.ErrUnsupportedResponseType
	}
	return err.Error()
}

func descriptionOf(err error) string {
	is := func(other error) bool { return errors.Is(err, other) }
	switch {
	case is(liberrors.ErrCodeChallengeRquired), is(liberrors.ErrUnsupportedCodeChallengeMethod):
		return "The program does not use PKCE with S256, without which a code could be stolen."
	case is(liberrors.ErrUnsupportedResponseType), is(liberrors.ErrUnauthorizedClient):
		return "The only response_type is code."
	}
	return "The request is not complete."
}

// Approve lets the client act as an agent. It gives the address to which the
// owner's browser has to go. Codes: conflict where the agent is disabled or gone, or
// has MaxConnected clients.
func (s *Service) Approve(tx node.Tx, actor node.Actor, r Request, agentID string) (back string, err error) {
	connected, err := s.Store.Authorizations(tx, agentID)
	if err != nil {
		return "", err
	}
	if len(connected) >= MaxConnected {
		return "", node.ConflictFor(node.ReasonBadState, "So many programs act as this agent already that no more fit into its list: disconnect one first.")
	}
	a := Authorization{
		ID: s.IDs.New(), OwnerID: actor.OwnerID, AgentID: agentID, ClientID: r.Client.ID, Resource: r.Resource, Status: Pending,
		CreatedAt: tx.Now(), LastUsedAt: tx.Now(), ExpiresAt: tx.Now().Add(CodeTime),
	}
	inserted, err := s.Store.InsertAuthorization(tx, a)
	if err != nil {
		return "", err
	}
	if !inserted {
		return "", node.ConflictFor(node.ReasonBadState, "The agent is disabled or gone: enable it first, or choose another.")
	}
	if err := s.Store.ApproveOAuthClient(tx, r.Client.ID, tx.Now()); err != nil {
		return "", err
	}
	library := *r.library
	library.UserID = a.ID
	e := &exchange{Service: s, tx: tx, client: r.Client, authorization: a}
	issued, err := e.server().GetAuthorizeToken(tx.Context(), &library)
	if err != nil {
		return "", node.Wrap(err, "make a code")
	}
	if err := s.note(tx, audit.ClientAuthorized, actor, a, r.Client); err != nil {
		return "", err
	}
	return s.answer(r, "", map[string]any{"code": issued.GetCode()})
}

// Refuse says no to the client. It gives the address to which the owner's browser
// has to go.
func (s *Service) Refuse(tx node.Tx, actor node.Actor, r Request) (back string, err error) {
	err = s.Audit.Append(tx, audit.Event{
		Type: audit.ClientRefused, Actor: actor, Subject: r.Client.ID, Data: map[string]any{"client": r.Client.Name},
	})
	if err != nil {
		return "", err
	}
	return s.answer(r, "", map[string]any{"error": liberrors.ErrAccessDenied.Error(), "error_description": "The owner said no."})
}

// answer is the address of the client with an answer, and with the issuer, by
// which a client of many servers tells them apart (RFC 9207).
func (s *Service) answer(r Request, host string, data map[string]any) (string, error) {
	origin := originOf(r.Resource)
	if origin == "" {
		origin = s.Origin(host)
	}
	data["iss"] = origin
	back, err := (&exchange{Service: s}).server().GetRedirectURI(&server.AuthorizeRequest{
		RedirectURI: r.Redirect, State: r.state, ResponseType: oauth2.Code,
	}, data)
	return back, node.Wrap(err, "write an answer's address")
}

func (s *Service) note(tx node.Tx, kind audit.Type, actor node.Actor, a Authorization, c Client) error {
	actor.AgentID = a.AgentID
	data := map[string]any{"client": c.Name}
	if place := PlaceOf(c.Redirect()); place.Host != "" && !strings.EqualFold(place.Host, c.Name) {
		data["host"] = place.Host
	}
	return s.Audit.Append(tx, audit.Event{Type: kind, Actor: actor, AgentID: a.AgentID, Subject: a.ID, Data: data})
}

// Redirect is the first of the addresses that the client's answers may go to.
func (c Client) Redirect() string {
	if len(c.RedirectURIs) == 0 {
		return ""
	}
	return c.RedirectURIs[0]
}
