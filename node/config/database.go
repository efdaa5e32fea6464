package config

import (
	"cmp"
	"log/slog"
	"net/url"
	"strings"

	"agentlink/node"
)

// DatabaseURL is where the database is: "sqlite:PATH" or "postgres://…". It may
// hold a password, and so prints without user and options.
type DatabaseURL string

// Reveal is the whole text, for the store alone.
func (d DatabaseURL) Reveal() string { return string(d) }

// String implements fmt.Stringer.
func (d DatabaseURL) String() string {
	if strings.HasPrefix(string(d), "sqlite:") {
		return string(d)
	}
	parsed, err := url.Parse(string(d))
	if err != nil {
		return "(a database)"
	}
	return parsed.Scheme + "://" + parsed.Host + parsed.EscapedPath()
}

// GoString implements fmt.GoStringer.
func (d DatabaseURL) GoString() string { return d.String() }

// LogValue implements slog.LogValuer.
func (d DatabaseURL) LogValue() slog.Value { return slog.StringValue(d.String()) }

// MarshalText implements encoding.TextMarshaler.
func (d DatabaseURL) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Postgres says whether the database is a server that replicas can share.
func (d DatabaseURL) Postgres() bool {
	return strings.HasPrefix(string(d), "postgres://") || strings.HasPrefix(string(d), "postgresql://")
}

// Path is the file of an SQLite database.
func (d DatabaseURL) Path() (path string, isFile bool) {
	path, isFile = strings.CutPrefix(string(d), "sqlite:")
	return path, isFile && path != ":memory:"
}

// exposed says whether rows go to another machine without TLS that names the
// server.
func (d DatabaseURL) exposed() bool {
	parsed, err := url.Parse(string(d))
	if err != nil || !d.Postgres() {
		return false
	}
	options := parsed.Query()
	host := cmp.Or(options.Get("host"), parsed.Hostname())
	here := host == "" || strings.HasPrefix(host, "/") || node.IsLoopback(bracketed(host))
	return !here && options.Get("sslmode") != "verify-full"
}

func (d DatabaseURL) valid() bool {
	if path, found := strings.CutPrefix(string(d), "sqlite:"); found {
		return path != ""
	}
	if !d.Postgres() {
		return false
	}
	// url.Parse's error is dropped: it quotes the password.
	parsed, err := url.Parse(string(d))
	return err == nil && parsed.Opaque == "" && parsed.Fragment == ""
}
