package owner

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"agentlink/node"
)

// Site is one address under which the dashboard is reached. A request for any
// other host is refused: its page may be somebody else's.
type Site struct {
	Origin string // such as http://localhost:7410
	host   string
	secure bool
	cookie string
	// party is nil where passkeys do not work: under IP addresses, and on plain
	// http beyond this machine.
	party *webauthn.WebAuthn
}

func newSite(origin, fingerprint string) (Site, error) {
	parsed, err := url.Parse(origin)
	if err != nil || !node.ValidHost(parsed.Host) || parsed.Scheme+"://"+parsed.Host != origin {
		return Site{}, fmt.Errorf("%q is no address for the dashboard", origin)
	}
	site := Site{Origin: origin, host: parsed.Host, secure: parsed.Scheme == "https"}
	site.cookie = "agentlink-" + fingerprint[:8]
	if site.secure {
		// On plain http some browsers refuse the prefix, even on this machine.
		site.cookie = "__Host-" + site.cookie
	}
	if !site.secure && !node.IsLoopback(site.host) {
		return site, nil
	}
	if _, err := netip.ParseAddr(strings.Trim(parsed.Hostname(), "[]")); err == nil {
		return site, nil
	}
	site.party, err = relyingParty(parsed.Hostname(), origin)
	return site, err
}

// relyingParty demands that the authenticator knows its user: a stolen security
// key alone opens nothing.
func relyingParty(id, origin string) (*webauthn.WebAuthn, error) {
	return webauthn.New(&webauthn.Config{
		RPID: id, RPDisplayName: "AgentLink on " + id, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementPreferred, UserVerification: protocol.VerificationRequired,
		},
	})
}

// Site finds the address by the Host of a request.
func (a *Access) Site(host string) (Site, bool) {
	host = strings.ToLower(host)
	for _, site := range a.sites {
		if site.host == host || (site.secure && site.host+":443" == host) || (!site.secure && site.host+":80" == host) {
			return site, true
		}
	}
	return Site{}, false
}

// Home is where links lead.
func (a *Access) Home() Site { return a.sites[0] }

// Passkeys says whether passkeys work at this address.
func (s Site) Passkeys() bool { return s.party != nil }

// Party is the name that passkeys of this address are bound to: its host without
// the port.
func (s Site) Party() string {
	if s.party == nil {
		return ""
	}
	return s.party.Config.RPID
}

// Cookie is the cookie that holds a session. Its value is a secret.
func (s Site) Cookie(value string) *http.Cookie {
	return &http.Cookie{ //nolint:gosec // Secure wherever the address is https; on plain http browsers would drop it
		Name: s.cookie, Value: value, Path: "/", MaxAge: int(SessionTime.Seconds()),
		Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	}
}

// CookieName is the name of that cookie.
func (s Site) CookieName() string { return s.cookie }

// NoCookie takes the cookie away.
func (s Site) NoCookie() *http.Cookie {
	cookie := s.Cookie("") //nolint:gosec // as Cookie makes it
	cookie.MaxAge = -1
	return cookie
}
