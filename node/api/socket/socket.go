// Package socket is the owner's door: a unix socket in the data folder, for the
// command line of the same user. Commands are JSON over HTTP, one POST each.
//
// Commands that only read need nothing beyond being the node's own user: who is
// that user can read the data folder anyway. Commands that decide, or change
// rules, keys or agents, carry the owner's password in their body, since an
// agent that runs under the same user could call them too.
package socket

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/backup"
	"agentlink/node/oauth"
	"agentlink/node/owner"
	"agentlink/node/token"
	"agentlink/policy"
)

// Info is what status tells of the running node beside what is stored.
type Info struct {
	Version     string    `json:"version"`
	PID         int       `json:"pid"`
	StartedAt   time.Time `json:"startedAt"`
	Host        string    `json:"host"` // of its agents' addresses
	Fingerprint string    `json:"fingerprint"`
	PublicKey   string    `json:"publicKey"` // Ed25519, base64url
	AgentsURL   string    `json:"agentsUrl"`
	PeersURL    string    `json:"peersUrl"`
	Database    string    `json:"database"` // "sqlite" or "postgres"
	DataDir     string    `json:"dataDir"`
}

// Comparer compares the log with what contacts keep of it.
type Comparer interface {
	Compare(ctx context.Context, owner node.Actor) (audit.Witnessed, error)
}

// Config is what the door needs.
type Config struct {
	DB           node.DB
	IDs          node.IDs
	Log          *slog.Logger
	Owner        *owner.Service
	Access       *owner.Access
	Policy       *policy.Service
	Decider      policy.Decider
	Decisions    Decisions
	Approvals    *approvals.Service
	Coordination *coordination.Service
	Actions      *actions.Service
	Clients      *oauth.Service
	Directory    coordination.Directory
	Audit        *audit.Log
	Events       audit.Store
	Witness      Comparer
	Info         func() Info
	Signer       *token.Signer
	// Backup writes the content of a backup.
	Backup func(ctx context.Context, w io.Writer) (backup.Report, error)
	// Restored tells of the last restore; zero for none.
	Restored Restored
	// Changed is called after each command that decided or changed something, since
	// what was barred until then may go on; nil where nobody waits for it.
	Changed func()
	// UID is the user who may come, beside root: the node's own.
	UID int
}

// Server answers the owner's commands.
type Server struct {
	Config
	commands map[string]command
}

// New makes the door.
func New(config Config) *Server {
	if config.Changed == nil {
		config.Changed = func() {}
	}
	s := &Server{Config: config, commands: map[string]command{}}
	s.agentCommands()
	s.clientCommands()
	s.grantCommands()
	s.overlayCommands()
	s.connectionCommands()
	s.keyCommands()
	s.approvalCommands()
	s.taskCommands()
	s.messageCommands()
	s.receiptCommands()
	s.logCommands()
	s.statusCommands()
	s.backupCommands()
	return s
}

// Commands names every command, and says whether it needs the password.
func (s *Server) Commands() map[string]bool {
	names := make(map[string]bool, len(s.commands))
	for name, command := range s.commands {
		names[name] = command.password
	}
	return names
}

// HTTP is the server that Serve of net/http is to be called on, with the
// time-outs set and the caller's credentials taken from each connection.
func (s *Server) HTTP() *http.Server {
	return &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ConnContext:       withCaller,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    8 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
}

// actor is the owner at the other end of this connection.
func (s *Server) actor(ctx context.Context, tx node.Tx) (node.Actor, error) {
	person, err := s.Owner.Owner(tx)
	if err != nil {
		return node.Actor{}, err
	}
	return node.Actor{Kind: node.ActorOwner, OwnerID: person.ID, Via: callerOf(ctx).String()}, nil
}
