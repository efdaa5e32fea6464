package oauth

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"agentlink/node"
	"agentlink/node/audit"
)

// MaxDocument is how large a registration or a metadata document is at most.
const MaxDocument = 16 << 10

// MaxName is how long a client's name is at most, in characters.
const MaxName = 120

// metadata is what a client says of itself (RFC 7591 §2). What else it says is
// ignored, as the RFC asks: nothing of it is fetched or shown.
type metadata struct {
	ClientID      string   `json:"client_id"`
	Name          string   `json:"client_name"`
	RedirectURIs  []string `json:"redirect_uris"`
	Method        Method   `json:"token_endpoint_auth_method"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
}

// readMetadata reads JSON with duplicate names and invalid text refused.
func readMetadata(data []byte) (m metadata, err error) {
	if len(data) > MaxDocument {
		return m, node.Errorf(node.TooLarge, "What a client says of itself may have 16 KiB.")
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return metadata{}, node.Errorf(node.BadRequest, "The client's metadata is not a JSON object of the expected kind.")
	}
	return m, m.check()
}

func (m *metadata) check() error {
	if err := checkRedirects(m.RedirectURIs); err != nil {
		return err
	}
	bad := func(field, problem string) error { return node.BadFields(node.Field{Field: field, Problem: problem}) }
	switch {
	case utf8.RuneCountInString(m.Name) > MaxName:
		return bad("client_name", fmt.Sprintf("must have at most %d characters", MaxName))
	case len(m.GrantTypes) > 0 && !slices.Contains(m.GrantTypes, "authorization_code"):
		return bad("grant_types", "must name authorization_code")
	case len(m.ResponseTypes) > 0 && !slices.Contains(m.ResponseTypes, "code"):
		return bad("response_types", "must name code")
	}
	if strings.TrimSpace(m.Name) == "" {
		m.Name = nameOf(m.RedirectURIs[0])
	}
	return nil
}

// nameOf names a client that does not: by where its answers go.
func nameOf(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return "unnamed"
	}
	if u.Host != "" {
		return u.Host
	}
	return u.Scheme
}

// Registered is a client that registered, with its secret, which nobody can tell
// a second time.
type Registered struct {
	Client
	Secret string // "" for a public client
}

// Register takes a client in. Anybody may register; it opens nothing. Codes:
// bad_request with details.fields, too_large.
func (s *Service) Register(tx node.Tx, document []byte) (Registered, error) {
	m, err := readMetadata(document)
	if err != nil {
		return Registered{}, err
	}
	id := s.IDs.New()
	r := Registered{Client: Client{ID: id, ClientID: id, Name: m.Name, RedirectURIs: m.RedirectURIs, Method: m.Method, CreatedAt: tx.Now()}}
	switch m.Method {
	case MethodPost, MethodBasic:
		r.Secret = newSecret(secretPrefix)
		r.SecretHash = hashOf(r.Secret)
	case MethodNone, "":
		r.Method = MethodNone // RFC 7591 lets the server choose; its default would be a secret that few expect
	default:
		return Registered{}, node.BadFields(node.Field{Field: "token_endpoint_auth_method", Problem: "must be none, client_secret_post or client_secret_basic"})
	}
	if _, err := s.Store.InsertOAuthClient(tx, r.Client); err != nil {
		return Registered{}, err
	}
	if err := s.Store.TrimOAuthClients(tx, tx.Now().Add(-unapprovedTime), MaxUnapproved); err != nil {
		return Registered{}, err
	}
	return r, s.Audit.Append(tx, audit.Event{
		Type: audit.ClientRegistered, Actor: node.Actor{Kind: node.ActorNode, Via: "registration"}, Subject: id,
		Data: map[string]any{"client": r.Name},
	})
}
