package node

import (
	"net"
	"net/netip"
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

// ParseAddress reads handle@host[:port]. It accepts one spelling of each address
// only. Code: bad_request for the field "address".
func ParseAddress(text string) (Address, error) {
	handle, host, found := strings.Cut(text, "@")
	if !found || len(text) > MaxAddress || !ValidHandle(handle) || !ValidHost(host) {
		return Address{}, BadFields(Field{Field: "address", Problem: "must look like handle@host or handle@host:port, in lower case"})
	}
	return Address{Handle: handle, Host: host}, nil
}

// MaxAddress is how long an address is at most.
const MaxAddress = 320

// ValidHost says whether text is host or host:port as it stands in an address: a
// name in lower-case ASCII, an IPv4 address, or an IPv6 address in brackets. An
// IP address must be in its usual form (RFC 5952); a name that some resolvers
// read as an IP address, such as 0x7f.1, is none.
func ValidHost(text string) bool {
	host, port, found := cutPort(text)
	if found && !validPort(port) {
		return false
	}
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip, err := netip.ParseAddr(inner)
		return closed && err == nil && ip.Is6() && !ip.Is4In6() && ip.Zone() == "" && ip.String() == inner
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Is4()
	}
	return len(host) <= 253 && hostPattern.MatchString(host) && !endsInNumber(host)
}

// cutPort splits at the last colon outside of brackets.
func cutPort(text string) (host, port string, found bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < strings.LastIndexByte(text, ']') || colon < 0 {
		return text, "", false
	}
	return text[:colon], text[colon+1:], true
}

func validPort(text string) bool {
	number, err := strconv.ParseUint(text, 10, 16)
	return err == nil && number > 0 && strconv.FormatUint(number, 10) == text
}

// endsInNumber is the test by which a URL's host counts as an IPv4 address
// (WHATWG URL, "ends in a number").
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if digits, hex := strings.CutPrefix(last, "0x"); hex {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
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
	ip := net.ParseIP(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	return ip != nil && ip.IsLoopback()
}
