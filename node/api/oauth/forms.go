package oauth

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/oauth"
)

// maxForm bounds what is read of a form.
const maxForm = 16 << 10

// everyOne is the bucket of the limit over all callers.
const everyOne = "all"

// registration is the answer of RFC 7591 §3.2.1.
type registration struct {
	ClientID      string       `json:"client_id"`
	IssuedAt      int64        `json:"client_id_issued_at"`
	Secret        string       `json:"client_secret,omitempty"`
	SecretExpires *int64       `json:"client_secret_expires_at,omitempty"` // 0: never; only with a secret
	Name          string       `json:"client_name"`
	RedirectURIs  []string     `json:"redirect_uris"`
	Method        oauth.Method `json:"token_endpoint_auth_method"`
	GrantTypes    []string     `json:"grant_types"`
	ResponseTypes []string     `json:"response_types"`
	Scope         string       `json:"scope"`
}

func (d *door) register(w http.ResponseWriter, r *http.Request) {
	from, now := address(r), d.Clock.Now()
	if pause := max(d.registrations.Blocked(from, now), d.allRegistrations.Blocked(everyOne, now)); pause > 0 {
		d.slow(w, pause)
		return
	}
	d.registrations.Add(from, now)
	d.allRegistrations.Add(everyOne, now)
	document, refused := read(w, r, "application/json", oauth.MaxDocument)
	if refused != nil {
		d.refuse(w, *refused)
		return
	}
	var made oauth.Registered
	err := d.DB.InTx(r.Context(), func(tx node.Tx) (err error) {
		made, err = d.Service.Register(tx, document)
		return err
	})
	if err != nil {
		d.fail(w, r, err, registrationCode(err))
		return
	}
	d.send(w, http.StatusCreated, answerOf(made))
}

// registrationCode is an error code of RFC 7591 §3.2.2.
func registrationCode(err error) string {
	if e, ok := node.AsError(err); ok && strings.Contains(e.Message, `"redirect_uris"`) {
		return "invalid_redirect_uri"
	}
	return "invalid_client_metadata"
}

func answerOf(made oauth.Registered) registration {
	answer := registration{
		ClientID: made.ClientID, IssuedAt: made.CreatedAt.Unix(), Secret: made.Secret, Name: made.Name, RedirectURIs: made.RedirectURIs,
		Method: made.Method, GrantTypes: oauth.Grants, ResponseTypes: []string{"code"}, Scope: oauth.Scope,
	}
	if made.Secret != "" {
		answer.SecretExpires = new(int64)
	}
	return answer
}

// read gives a body of one media type, within a limit.
func read(w http.ResponseWriter, r *http.Request, mediaType string, most int64) ([]byte, *oauth.Refusal) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != mediaType || !plainRequest(r) {
		return nil, &oauth.Refusal{Status: http.StatusBadRequest, Code: "invalid_request", Description: "Send " + mediaType + ", as it is and without a query."}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, &oauth.Refusal{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request", Description: "The request is too large, or did not arrive whole."}
	}
	return body, nil
}

const formType = "application/x-www-form-urlencoded"

// token serves one address for two kinds of caller: programs that the owner has
// approved, and agents with their keys. The grant_type tells which.
func (d *door) token(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		d.refuse(w, oauth.Refusal{Status: http.StatusRequestEntityTooLarge, Code: "invalid_request", Description: "The request is too large, or did not arrive whole."})
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	form, err := url.ParseQuery(string(body))
	if err != nil || !slices.Contains(oauth.Grants, form.Get("grant_type")) {
		d.agent(w, r, form)
		return
	}
	given, refused := d.form(w, r)
	if refused != nil {
		d.refuse(w, *refused)
		return
	}
	request := oauth.TokenRequest{
		Credentials: given.credentials, Grant: form.Get("grant_type"), Code: form.Get("code"), RedirectURI: form.Get("redirect_uri"),
		CodeVerifier: form.Get("code_verifier"), Refresh: form.Get("refresh_token"), Resource: form.Get("resource"),
	}
	d.exchange(w, r, request)
}

// agent passes on what is an agent's own. An agent that comes as a client of MCP
// names scope and resource too; the first changes nothing, and the second has to
// be this node.
func (d *door) agent(w http.ResponseWriter, r *http.Request, form url.Values) {
	if resources := form["resource"]; len(resources) == 1 && len(form["scope"]) <= 1 && d.Service.Serves(resources[0]) {
		form.Del("resource")
		form.Del("scope")
		body := form.Encode()
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	d.Agents.ServeHTTP(w, r)
}

func (d *door) exchange(w http.ResponseWriter, r *http.Request, request oauth.TokenRequest) {
	from, now := request.ClientID+"\n"+address(r), d.Clock.Now()
	if pause := d.failures.Blocked(from, now); pause > 0 {
		d.slow(w, pause)
		return
	}
	var tokens oauth.Tokens
	var refused *oauth.Refusal
	err := d.DB.InTx(r.Context(), func(tx node.Tx) (err error) {
		tokens, refused, err = d.Service.Token(tx, request)
		return err
	})
	switch {
	case err != nil:
		d.fail(w, r, err, "invalid_request")
	case refused != nil:
		d.failures.Add(from, now)
		d.Log.Info("program not let in", "from", address(r), "why", refused.Code)
		d.refuse(w, *refused)
	default:
		d.Log.Info("program let in", "from", address(r), "grant", request.Grant)
		w.Header().Set("Pragma", "no-cache")
		d.send(w, http.StatusOK, tokens)
	}
}

func (d *door) revoke(w http.ResponseWriter, r *http.Request) {
	given, refused := d.form(w, r)
	if refused != nil {
		d.refuse(w, *refused)
		return
	}
	if given.values.Get("token") == "" {
		d.refuse(w, oauth.InvalidRequest)
		return
	}
	err := d.DB.InTx(r.Context(), func(tx node.Tx) (err error) {
		refused, err = d.Service.RevokeToken(tx, given.credentials, given.values.Get("token"))
		return err
	})
	switch {
	case err != nil:
		d.fail(w, r, err, "invalid_request")
	case refused != nil:
		d.refuse(w, *refused)
	default:
		w.WriteHeader(http.StatusOK)
	}
}

// clientForm is a form with who sent it.
type clientForm struct {
	values      url.Values
	credentials oauth.Credentials
}

// form reads a client's form: each field once, credentials in one place.
func (d *door) form(w http.ResponseWriter, r *http.Request) (clientForm, *oauth.Refusal) {
	body, refused := read(w, r, formType, maxForm)
	if refused != nil {
		return clientForm{}, refused
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return clientForm{}, &oauth.InvalidRequest
	}
	for _, all := range values {
		if len(all) > 1 {
			return clientForm{}, &oauth.InvalidRequest
		}
	}
	given, ok := credentialsOf(r.Header.Get("Authorization"), values)
	if !ok {
		return clientForm{}, &oauth.InvalidClient
	}
	return clientForm{values: values, credentials: given}, nil
}

// credentialsOf reads who the client says it is, and its secret.
func credentialsOf(authorization string, form url.Values) (oauth.Credentials, bool) {
	given := oauth.Credentials{ClientID: form.Get("client_id"), Secret: form.Get("client_secret")}
	if authorization == "" {
		return given, given.ClientID != ""
	}
	id, secret, ok := api.Basic(authorization)
	if !ok || form.Has("client_secret") {
		return oauth.Credentials{}, false
	}
	same := !form.Has("client_id") || form.Get("client_id") == id
	return oauth.Credentials{ClientID: id, Secret: secret}, same && id != ""
}
