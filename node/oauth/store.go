package oauth

import (
	"time"

	"agentlink/node"
)

// Client is a program that wants to act as an agent.
type Client struct {
	ID string // of the row
	// ClientID is what it calls itself by: ID where it registered, or the URL of its
	// document. Sealed at rest, like all that it says of itself.
	ClientID     string
	Name         string
	RedirectURIs []string
	// Method is how it shows who it is at the token endpoint.
	Method Method
	// SecretHash is the SHA-256 of its secret, hex; "" for a public client.
	SecretHash string

	CreatedAt time.Time
	// FetchedAt is when its document was read; zero where it registered.
	FetchedAt time.Time
	// ApprovedAt is when the owner first approved it; zero where never.
	ApprovedAt time.Time
}

// Method is a token_endpoint_auth_method.
type Method string

// The methods.
const (
	MethodNone  Method = "none"
	MethodPost  Method = "client_secret_post"
	MethodBasic Method = "client_secret_basic"
)

// Status is how far an authorization has come.
type Status string

// The statuses.
const (
	Pending Status = "pending" // approved, and the client has not come for its tokens yet
	Active  Status = "active"
	Revoked Status = "revoked"
)

// Authorization is the owner's approval of a client for one agent.
type Authorization struct {
	ID       string
	OwnerID  string
	AgentID  string
	ClientID string // Client.ID
	Resource string // sealed at rest
	Status   Status

	CreatedAt  time.Time
	LastUsedAt time.Time // when it last got tokens
	ExpiresAt  time.Time // when its refresh token is over
	// AgentActive says whether the agent is enabled; only read.
	AgentActive bool
}

// Connected is an authorization with its client's name, for lists.
type Connected struct {
	Authorization
	Client Client
}

// Kind is a kind of secret.
type Kind string

// The kinds.
const (
	KindCode    Kind = "code"
	KindAccess  Kind = "access"
	KindRefresh Kind = "refresh"
)

// Secret is a code or a token, known by its SHA-256 alone.
type Secret struct {
	Hash            string
	Kind            Kind
	AuthorizationID string
	CreatedAt       time.Time
	ExpiresAt       time.Time
	UsedAt          time.Time // zero until a code or a refresh token is used
	// RedirectURI and Challenge belong to a code; sealed at rest.
	RedirectURI string
	Challenge   string
}

// Access is what an access token opens.
type Access struct {
	AgentID    string
	ClientID   string // Client.ClientID
	ClientName string
	Expires    time.Time
}

// Store keeps clients, authorizations and the hashes of secrets.
//
// Rows are locked in this order: secret, authorization, client.
type Store interface {
	// InsertOAuthClient stores a client. It gives false where there is one of this
	// ClientID already.
	InsertOAuthClient(tx node.Tx, c Client) (bool, error)
	// OAuthClient finds a client by its ClientID. Code: not_found.
	OAuthClient(tx node.Tx, clientID string) (Client, error)
	// SetOAuthClient replaces what a client says of itself, and FetchedAt. Code:
	// not_found.
	SetOAuthClient(tx node.Tx, c Client) error
	// ApproveOAuthClient notes the first approval. Code: not_found.
	ApproveOAuthClient(tx node.Tx, id string, at time.Time) error
	// TrimOAuthClients forgets the clients without an approval that were created
	// before a time, and the oldest of them beyond a number.
	TrimOAuthClients(tx node.Tx, before time.Time, most int) error

	// InsertAuthorization stores an approval. It gives false where the agent is
	// none of the owner's, or disabled.
	InsertAuthorization(tx node.Tx, a Authorization) (bool, error)
	// Authorization finds one. Code: not_found.
	Authorization(tx node.Tx, id string) (Authorization, error)
	// Authorizations lists those of an agent that are active and not over, the
	// newest first, with their clients; MaxConnected at most.
	Authorizations(tx node.Tx, agentID string) ([]Connected, error)
	// UseAuthorization makes an authorization active and notes its use. It gives
	// false where it is revoked.
	UseAuthorization(tx node.Tx, id string, at, expires time.Time) (bool, error)
	// EndAuthorization revokes. It gives false where that was done already.
	EndAuthorization(tx node.Tx, id string, at time.Time) (bool, error)

	// InsertSecret stores a code or a token.
	InsertSecret(tx node.Tx, s Secret) error
	// LockSecret finds a code or a token, and keeps others from LockSecret of it
	// until the transaction ends. Code: not_found.
	LockSecret(tx node.Tx, hash string) (Secret, error)
	// SpendSecret notes the use of a secret. It gives false where it is used.
	SpendSecret(tx node.Tx, hash string, at time.Time) (bool, error)
	// ForgetSecrets drops the secrets of an authorization that were over before a
	// time.
	ForgetSecrets(tx node.Tx, authorizationID string, before time.Time) error
	// OAuthAccess finds what an access token opens, in one look-up: the token not
	// over, its authorization active, its agent enabled. Code: not_found.
	OAuthAccess(tx node.Tx, hash string, at time.Time) (Access, error)
}
