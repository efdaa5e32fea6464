package rest

import (
	"context"
	"mime"
	"net/url"
	"time"

	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/problem"
	"agentlink/policy"
)

// grantType is the only one.
const grantType = "client_credentials"

// maxFailures is how often a client may fail from one address in a minute.
const maxFailures = 10

const tokenPath = "/oauth/token"

// tokenRequest is the form of RFC 6749 §4.4.2. The credentials stand in it or in
// the header.
type tokenRequest struct {
	GrantType    string `json:"grant_type" is:"grant"`
	ClientID     string `json:"client_id,omitempty" doc:"Id or handle of the agent."`
	ClientSecret string `json:"client_secret,omitempty" doc:"Its key, alk_…."`
}

// tokenAnswer is what RFC 6749 §5.1 asks for.
type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in" doc:"Seconds."`
}

// tokenProblem is what RFC 6749 §5.2 asks for.
type tokenProblem struct {
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// credentials are an agent's: its id or handle, and its key.
type credentials struct{ client, key string }

// The errors of RFC 6749 that the endpoint gives.
var (
	invalidRequest   = refused{400, tokenProblem{"invalid_request", "Send a form with grant_type=client_credentials, and client_id and client_secret either in it or as Basic credentials."}}
	unsupportedGrant = refused{400, tokenProblem{"unsupported_grant_type", "With an agent's key the only grant_type is client_credentials."}}
	invalidClient    = refused{401, tokenProblem{"invalid_client", "This client is not known here, or its key is wrong, or it is disabled."}}
	tooManyFailures  = refused{429, tokenProblem{"rate_limited", "Too many failed tries. Wait for the seconds in Retry-After."}}
)

type refused struct {
	status int
	body   tokenProblem
}

func (r refused) answer() api.Answer {
	body, err := json.Marshal(r.body)
	if err != nil {
		panic("rest: " + err.Error())
	}
	answer := api.Answer{Status: r.status, Body: body, Header: map[string]string{}}
	if r.status == problem.Status(node.Unauthorized) {
		answer.Header["WWW-Authenticate"] = `Basic realm="agentlink"`
	}
	return answer
}

// token gives an agent an access token for its key.
func (h *handlers) token(ctx context.Context, call *api.Call) api.Answer {
	given, bad := readCredentials(call)
	if bad != nil {
		return bad.answer()
	}
	source, now := given.client+"\n"+call.Remote, h.API.Clock.Now()
	if pause := h.failures.Blocked(source, now); pause > 0 {
		answer := tooManyFailures.answer()
		answer.Header["Retry-After"] = seconds(pause)
		return answer
	}
	var agent policy.Agent
	err := h.API.DB.View(ctx, func(tx node.Tx) (err error) {
		agent, err = h.Agents.Authenticate(tx, given.client, given.key)
		return err
	})
	if node.CodeOf(err) == node.Unauthorized && err != nil {
		h.failures.Add(source, now)
		h.API.Door.Log.Info("agent not let in", "request", call.RequestID, "from", call.Remote)
		return invalidClient.answer()
	}
	if err != nil {
		return h.API.Door.Fail(call, err)
	}
	return h.issue(call, agent, now)
}

func (h *handlers) issue(call *api.Call, agent policy.Agent, now time.Time) api.Answer {
	compact, expiresIn, err := h.Tokens.Issue(agent.ID, agent.KeyGeneration, now)
	if err != nil {
		return h.API.Door.Fail(call, err)
	}
	body, err := json.Marshal(tokenAnswer{AccessToken: compact, TokenType: "Bearer", ExpiresIn: int(expiresIn.Seconds())})
	if err != nil {
		return h.API.Door.Fail(call, err)
	}
	h.API.Door.Log.Info("agent let in", "request", call.RequestID, "from", call.Remote, "agent", agent.ID)
	return api.Answer{Status: api.OK, Body: body, Header: map[string]string{"Pragma": "no-cache"}}
}

// readCredentials reads the form, strictly: each field once, none unknown,
// credentials in one place.
func readCredentials(call *api.Call) (credentials, *refused) {
	kind, _, err := mime.ParseMediaType(call.Header.ContentType)
	if err != nil || kind != formType || len(call.Query) > 0 {
		return credentials{}, &invalidRequest
	}
	form, err := url.ParseQuery(string(call.Body))
	if err != nil || !onlyOnce(form, "grant_type", "client_id", "client_secret") || !form.Has("grant_type") {
		return credentials{}, &invalidRequest
	}
	if form.Get("grant_type") != grantType {
		return credentials{}, &unsupportedGrant
	}
	inBody := form.Has("client_id") || form.Has("client_secret")
	switch {
	case inBody && call.Header.Authorization != "":
		return credentials{}, &invalidRequest
	case inBody:
		return credentials{client: form.Get("client_id"), key: form.Get("client_secret")}, nil
	}
	client, key, ok := api.Basic(call.Header.Authorization)
	if !ok {
		return credentials{}, &invalidClient
	}
	return credentials{client: client, key: key}, nil
}

func onlyOnce(form url.Values, known ...string) bool {
	count := 0
	for _, name := range known {
		if len(form[name]) > 1 {
			return false
		}
		count += len(form[name])
	}
	return count == len(form)
}
