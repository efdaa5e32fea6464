package nodetest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// Client is a program of somebody else that comes by OAuth.
type Client struct {
	node     *Node
	ID       string
	Redirect string
	Verifier string
}

// RegisterClient registers a public client whose answers go to an address.
func (n *Node) RegisterClient(name, redirect string) *Client {
	n.tb.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "none"})
	if err != nil {
		n.tb.Fatal(err)
	}
	answer := n.postAs("/oauth/register", "application/json", string(body))
	if answer.Status != http.StatusCreated {
		n.tb.Fatalf("register a client: %d %s", answer.Status, answer.Body)
	}
	return &Client{node: n, ID: answer.Text("client_id"), Redirect: redirect, Verifier: strings.Repeat("verifier-", 6)}
}

func (n *Node) postAs(path, contentType, body string) Answer {
	n.tb.Helper()
	r, err := http.NewRequestWithContext(n.tb.Context(), http.MethodPost, n.DashboardURL()+path, strings.NewReader(body))
	if err != nil {
		n.tb.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	return send(n.tb, r)
}

// AuthorizeURL is where the client sends the owner's browser, with changes; a
// value of "" leaves a parameter out.
func (c *Client) AuthorizeURL(changes map[string]string) string {
	sum := sha256.Sum256([]byte(c.Verifier))
	query := url.Values{
		"response_type": {"code"}, "client_id": {c.ID}, "redirect_uri": {c.Redirect}, "state": {"state of the client"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"resource": {c.node.DashboardURL() + "/mcp"}, "scope": {"mcp offline_access"},
	}
	for name, value := range changes {
		if query.Set(name, value); value == "" {
			query.Del(name)
		}
	}
	return c.node.DashboardURL() + "/oauth/authorize?" + query.Encode()
}

// Token sends a form to the token endpoint, as this client.
func (c *Client) Token(form map[string]string) Answer {
	c.node.tb.Helper()
	values := url.Values{"client_id": {c.ID}}
	for name, value := range form {
		values.Set(name, value)
	}
	return c.node.postAs("/oauth/token", "application/x-www-form-urlencoded", values.Encode())
}

// Redeem changes a code for tokens.
func (c *Client) Redeem(code string) Answer {
	c.node.tb.Helper()
	return c.Token(map[string]string{
		"grant_type": "authorization_code", "code": code, "redirect_uri": c.Redirect, "code_verifier": c.Verifier,
	})
}

// Refresh changes a refresh token for tokens.
func (c *Client) Refresh(token string) Answer {
	c.node.tb.Helper()
	return c.Token(map[string]string{"grant_type": "refresh_token", "refresh_token": token})
}

// Approve lets the owner approve the client on the dashboard's page, as a browser
// without scripts does. It gives the address to which the browser is sent.
func (c *Client) Approve(v *Visitor, changes map[string]string, agent *Agent) *url.URL {
	c.node.tb.Helper()
	page := v.Get(c.AuthorizeURL(changes)).Want(http.StatusOK)
	page = page.Submit("Approve", url.Values{"agent": {agent.ID}}).Want(http.StatusOK)
	_, target, _ := strings.Cut(page.Header.Get("Refresh"), "url=")
	back, err := url.Parse(target)
	if err != nil || target == "" {
		c.node.tb.Fatalf("the page leads nowhere: %q: %s", page.Header.Get("Refresh"), page.Text())
	}
	return back
}

// Revoke gives a token back.
func (c *Client) Revoke(token string) Answer {
	c.node.tb.Helper()
	form := url.Values{"client_id": {c.ID}, "token": {token}}
	return c.node.postAs("/oauth/revoke", "application/x-www-form-urlencoded", form.Encode())
}
