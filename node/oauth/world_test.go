package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/oauth"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

const (
	home     = "https://node.example"
	here     = "http://127.0.0.1:7410"
	callback = "https://program.example/callback"
	verifier = "a verifier that is long enough to be one, as RFC 7636 asks"
	document = "https://program.example/client.json"
)

var (
	noon  = time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)
	owner = node.Actor{Kind: node.ActorOwner, OwnerID: "owner"}
)

// world is the service on a real database, with two agents.
type world struct {
	*testing.T
	store   *store.Store
	clock   *node.FakeClock
	log     *audit.Log
	service *oauth.Service
	// documents are what can be fetched, by their addresses.
	documents map[string]string
	fetched   *int
}

// each runs a test on both databases.
func each(t *testing.T, test func(w world)) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) { test(newWorld(t, fresh(t))) })
}

func newWorld(t *testing.T, database storetest.Database) world {
	t.Helper()
	w := world{T: t, clock: node.NewFakeClock(noon), documents: map[string]string{}, fetched: new(int)}
	database.Clock = w.clock
	w.store = database.Open(t)
	w.log = audit.New(w.store, []byte("key"))
	w.service = oauth.New(oauth.Config{
		DB: w.store, Store: w.store, Audit: w.log, IDs: node.RandomIDs{}, Origins: []string{home, here}, Fetch: w.fetch,
	})
	for _, id := range []string{"scout", "juno"} {
		w.agent(id, policy.Active)
	}
	return w
}

func (w world) fetch(_ context.Context, address string) ([]byte, error) {
	*w.fetched++
	text, there := w.documents[address]
	if !there {
		return nil, context.DeadlineExceeded
	}
	return []byte(text), nil
}

// agent makes an agent, or changes its status.
func (w world) agent(id string, status policy.Status) {
	w.Helper()
	a := policy.Agent{
		ID: id, OwnerID: owner.OwnerID, Handle: id, Mode: policy.Manual, Status: status, KeyHash: id, KeyGeneration: 1, RulesRev: 1,
		RulesStamp: "stamp", CreatedAt: noon,
	}
	w.in(func(tx node.Tx) error {
		fresh, err := w.store.InsertAgent(tx, a)
		if err == nil && !fresh {
			err = w.store.SaveAgent(tx, a)
		}
		return err
	})
}

func (w world) in(f func(tx node.Tx) error) {
	w.Helper()
	if err := w.store.InTx(w.Context(), f); err != nil {
		w.Fatal(err)
	}
}

// register takes a client in, whose answers go to these addresses.
func (w world) register(method oauth.Method, redirects ...string) (r oauth.Registered) {
	w.Helper()
	raw, err := json.Marshal(map[string]any{"client_name": "A program", "redirect_uris": redirects, "token_endpoint_auth_method": method})
	if err != nil {
		w.Fatal(err)
	}
	w.in(func(tx node.Tx) (err error) {
		r, err = w.service.Register(tx, raw)
		return err
	})
	return r
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// ask is a request of a client, with changes in pairs; "" leaves a parameter out.
func ask(clientID string, changes ...string) url.Values {
	query := url.Values{
		"client_id": {clientID}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"a state"},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"}, "resource": {home + "/mcp"},
	}
	for i := 0; i < len(changes); i += 2 {
		if query.Set(changes[i], changes[i+1]); changes[i+1] == "" {
			query.Del(changes[i])
		}
	}
	return query
}

// read checks a request.
func (w world) read(query url.Values) (request oauth.Request, problem *oauth.Problem) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		request, problem, err = w.service.Read(tx, "node.example", query)
		return err
	})
	return request, problem
}

// approve approves a request, and gives the address of the answer.
func (w world) approve(query url.Values, agentID string) (back *url.URL) {
	w.Helper()
	request, problem := w.read(query)
	if problem != nil {
		w.Fatalf("the request is refused: %s", problem.Message)
	}
	w.in(func(tx node.Tx) error {
		text, err := w.service.Approve(tx, owner, request, agentID)
		if err != nil {
			return err
		}
		back, err = url.Parse(text)
		return err
	})
	return back
}

// code is that of a client which was just approved for scout.
func (w world) code(c oauth.Registered) string {
	w.Helper()
	return w.approve(ask(c.ClientID), "scout").Query().Get("code")
}

// redeem is what a client sends with a code, with changes.
func redeem(c oauth.Registered, code string, change ...func(*oauth.TokenRequest)) oauth.TokenRequest {
	r := oauth.TokenRequest{
		Credentials: oauth.Credentials{ClientID: c.ClientID, Secret: c.Secret}, Grant: "authorization_code", Code: code,
		RedirectURI: callback, CodeVerifier: verifier, Resource: home + "/mcp",
	}
	for _, f := range change {
		f(&r)
	}
	return r
}

func refresh(c oauth.Registered, token string) oauth.TokenRequest {
	return oauth.TokenRequest{Credentials: oauth.Credentials{ClientID: c.ClientID, Secret: c.Secret}, Grant: "refresh_token", Refresh: token}
}

// token asks for tokens.
func (w world) token(r oauth.TokenRequest) (tokens oauth.Tokens, refusal *oauth.Refusal) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		tokens, refusal, err = w.service.Token(tx, r)
		return err
	})
	return tokens, refusal
}

// gets is token where it has to be given.
func (w world) gets(r oauth.TokenRequest) oauth.Tokens {
	w.Helper()
	tokens, refusal := w.token(r)
	if refusal != nil {
		w.Fatalf("refused: %s", refusal.Code)
	}
	return tokens
}

// refused is token where it must not be given.
func (w world) refused(what string, r oauth.TokenRequest, code string) {
	w.Helper()
	tokens, refusal := w.token(r)
	if refusal == nil || refusal.Code != code || tokens.AccessToken != "" {
		w.Errorf("%s: %+v, want %s", what, refusal, code)
	}
}

// connect goes the whole way to the first tokens.
func (w world) connect() (c oauth.Registered, tokens oauth.Tokens) {
	w.Helper()
	c = w.register(oauth.MethodNone, callback)
	return c, w.gets(redeem(c, w.code(c)))
}

// opens says whether an access token opens anything, and as whom.
func (w world) opens(token string) (access oauth.Access, ok bool) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		access, err = w.service.Check(tx, token)
		if ok = err == nil; !ok && node.CodeOf(err) == node.Unauthorized {
			return nil
		}
		return err
	})
	return access, ok
}

// logged counts events of a type.
func (w world) logged(kind audit.Type) (count int) {
	w.Helper()
	w.in(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Types: []audit.Type{kind}})
		count = len(rows)
		for _, row := range rows {
			if text := string(row.Data); strings.Contains(text, "al"+"o_") || strings.Contains(text, "alr_") || strings.Contains(text, "alc_") {
				w.Errorf("a secret is in the log: %s", text)
			}
		}
		return err
	})
	return count
}
