package node

import (
	"net"
	"regexp"
	"strconv"
	"strings"
)

// Address names an agent: handle@host[:port]. It is kept in lower case.
type Address struct {
	Handle string
	Host   string // with :port where one was given
}

var (
	handlePattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$`)
	hostPattern   = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$`)
)

// ValidHandle says whether text can name an agent: 1 to 64 lower-case letters,
// digits, dots, hyphens and underscores, with a letter or digit at both ends.
func ValidHandle(text string) bool { return handlePattern.MatchString(text) }

// ParseAddress reads handle@host[:port]. Code: bad_request for the field
// "address".
func ParseAddress(text string) (Address, error) {
	bad := BadFields(Field{Field: "address", Problem: "must look like handle@host or handle@host:port"})
	handle, host, found := strings.Cut(text, "@")
	if !found || len(text) > 320 || !ValidHandle(handle) || !validHostPort(host) {
		return Address{}, bad
	}
	return Address{Handle: handle, Host: host}, nil
}

func validHostPort(text string) bool {
	host, port := text, ""
	if strings.HasPrefix(text, "[") || strings.Count(text, ":") == 1 {
		var err error
		if host, port, err = net.SplitHostPort(text); err != nil {
			return false
		}
		if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 || strconv.Itoa(number) != port {
			return false
		}
	}
	if ip := net.ParseIP(host); ip != nil {
		return true
	}
	return len(host) <= 253 && hostPattern.MatchString(host)
}

// String gives the address back.
func (a Address) String() string { return a.Handle + "@" + a.Host }

// IsLoopback says whether a host, with or without a port, is this machine. Plain
// http is accepted for such hosts alone, unless configuration says otherwise.
func IsLoopback(hostPort string) bool {
	host := hostPort
	if h, _, err := net.SplitHostPort(hostPort); err == nil {
		host = h
	}
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}
