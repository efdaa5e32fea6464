// Package config turns the environment into one checked struct. A setting that
// cannot be read, and a combination that is not safe, is refused in one sentence
// that says what to set.
package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"time"
)

// The names of the settings.
const (
	DataDirName              = "AGENTLINK_DATA_DIR"
	DatabaseURLName          = "AGENTLINK_DATABASE_URL"
	ListenName               = "AGENTLINK_LISTEN"
	PublicListenName         = "AGENTLINK_PUBLIC_LISTEN"
	PublicURLName            = "AGENTLINK_PUBLIC_URL"
	DashboardURLName         = "AGENTLINK_DASHBOARD_URL"
	TLSCertName              = "AGENTLINK_TLS_CERT"
	TLSKeyName               = "AGENTLINK_TLS_KEY"
	MasterKeyFileName        = "AGENTLINK_MASTER_KEY_FILE"
	MasterPassphraseFileName = "AGENTLINK_MASTER_KEY_PASSPHRASE_FILE"
	ApprovalTTLName          = "AGENTLINK_APPROVAL_TTL_HOURS"
	AllowPlainHTTPName       = "AGENTLINK_ALLOW_PLAIN_HTTP"
	AllowPeerNetworksName    = "AGENTLINK_ALLOW_PEER_NETWORKS"
	TrustedProxiesName       = "AGENTLINK_TRUSTED_PROXIES"
)

// Config is a node's settings. What Load gives is complete; Check says whether
// it is safe.
type Config struct {
	// DataDir holds the database, the master key and the owner's socket. It is an
	// absolute path; nobody but the node's user may read it.
	DataDir string
	// Database is "sqlite:PATH" or "postgres://…".
	Database DatabaseURL
	// Listen is host:port of the owner's and agents' side. Port 0 takes a free
	// one: whoever listens then writes the real one here.
	Listen string
	// PublicListen is host:port of the peers' side; "" when Listen serves them too.
	PublicListen string
	// PublicURL is how peers reach the node, without a path; "" to derive it from
	// the address that it listens on.
	PublicURL string
	// DashboardURL is how the owner reaches the dashboard, without a path; "" to
	// derive it.
	DashboardURL string
	// TLSCert and TLSKey are PEM files; both or none.
	TLSCert, TLSKey string
	MasterKeyFile   string
	// MasterPassphraseFile holds the passphrase of the master key; "" when it has
	// none, or when a person types it.
	MasterPassphraseFile string
	// ApprovalTTL is how long an approval waits for the owner.
	ApprovalTTL time.Duration
	// AllowPlainHTTP accepts http where it is not on this machine alone.
	AllowPlainHTTP bool
	// AllowPeerNetworks are private networks that peers may be in.
	AllowPeerNetworks []netip.Prefix
	// TrustedProxies are the addresses of proxies that say whom a request came from.
	TrustedProxies []netip.Prefix
}

// Defaults and limits.
const (
	DefaultListen      = "localhost:7410"
	DefaultApprovalTTL = 24 * time.Hour
	MinApprovalTTL     = time.Hour
	MaxApprovalTTL     = 720 * time.Hour
)

// Load reads the settings through getenv, which answers "" for what is not set.
func Load(getenv func(string) string) (Config, error) {
	r := reader{getenv: getenv}
	dir := r.dataDir()
	c := Config{
		DataDir:              dir,
		Database:             r.database(filepath.Join(dir, "node.db")),
		Listen:               r.listen(ListenName, DefaultListen),
		PublicListen:         r.listen(PublicListenName, ""),
		PublicURL:            r.publicURL(),
		DashboardURL:         r.address(DashboardURLName, "where you open the dashboard"),
		TLSCert:              r.path(TLSCertName, ""),
		TLSKey:               r.path(TLSKeyName, ""),
		MasterKeyFile:        r.path(MasterKeyFileName, filepath.Join(dir, "master.key")),
		MasterPassphraseFile: r.path(MasterPassphraseFileName, ""),
		ApprovalTTL:          r.approvalTTL(),
		AllowPlainHTTP:       r.yes(AllowPlainHTTPName),
		AllowPeerNetworks:    r.networks(),
		TrustedProxies:       r.proxies(),
	}
	if r.err != nil {
		return Config{}, r.err
	}
	return c, nil
}

// Override puts some settings before the environment; flags of the command line
// come in this way.
func Override(getenv func(string) string, settings map[string]string) func(string) string {
	return func(name string) string {
		if value, found := settings[name]; found {
			return value
		}
		return getenv(name)
	}
}

// SocketPath is where the running node serves its owner.
func (c Config) SocketPath() string { return filepath.Join(c.DataDir, "owner.sock") }

func refuse(format string, args ...any) error { return fmt.Errorf(format, args...) }
