package oauth

import (
	"net/url"
	"slices"
	"strings"

	"agentlink/node"
)

// Bounds of redirect URIs.
const (
	maxRedirects      = 10
	maxRedirectLength = 1000
)

// appSchemes are the schemes without a dot under which programs are known to
// wait for the answer. Others need a dot, as RFC 8252 §7.1 asks of a scheme of
// one's own: a list of what is dangerous (javascript, ms-msdt …) never ends.
var appSchemes = []string{"cursor", "vscode", "vscode-insiders", "vscodium", "windsurf", "zed", "claude", "raycast", "warp", "goose"}

// CheckRedirect says whether an answer may go to this address at all; "" when it
// may.
func checkRedirect(text string) (problem string) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > maxRedirectLength || !printable(text):
		return "is not an address, or is too long"
	case u.Fragment != "" || strings.Contains(text, "#"):
		return "must have no fragment"
	case u.User != nil || u.Opaque != "":
		return "must have neither a user nor an opaque part"
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme == "https" && u.Hostname() != "":
		return ""
	case scheme == "http" && isLoopback(u):
		return ""
	case scheme == "http":
		return "must be https, or http on 127.0.0.1, [::1] or localhost"
	case strings.Contains(scheme, ".") || slices.Contains(appSchemes, scheme):
		return ""
	}
	return "must be https, http on this machine, or a scheme of the program's own with a dot in it"
}

// printable keeps addresses to what shows itself.
func printable(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' || text[i] == '\\' || text[i] == '"' || text[i] == '<' || text[i] == '>' {
			return false
		}
	}
	return text != ""
}

// isLoopback is narrower than node.IsLoopback: the three names of RFC 8252.
func isLoopback(u *url.URL) bool {
	return slices.Contains([]string{"127.0.0.1", "::1", "localhost"}, u.Hostname())
}

// matches says whether an address is one that the client registered: the same
// text, or on this machine the same but for the port, which such a program
// cannot choose beforehand (RFC 8252 §7.3).
func (c Client) matches(redirect string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool {
		return registered == redirect || sameButPort(registered, redirect)
	})
}

func sameButPort(registered, given string) bool {
	a, errA := url.Parse(registered)
	b, errB := url.Parse(given)
	if errA != nil || errB != nil || checkRedirect(given) != "" {
		return false
	}
	return a.Scheme == "http" && b.Scheme == "http" && isLoopback(a) && a.Hostname() == b.Hostname() &&
		pathOf(a) == pathOf(b) && a.RawQuery == b.RawQuery
}

func pathOf(u *url.URL) string {
	if path := u.EscapedPath(); path != "" {
		return path
	}
	return "/"
}

// checkRedirects gives what is wrong with a client's addresses.
func checkRedirects(all []string) error {
	if len(all) == 0 || len(all) > maxRedirects {
		return node.BadFields(node.Field{Field: "redirect_uris", Problem: "must have 1 to 10 addresses"})
	}
	for _, redirect := range all {
		if problem := checkRedirect(redirect); problem != "" {
			return node.BadFields(node.Field{Field: "redirect_uris", Problem: problem})
		}
	}
	return nil
}

// Place is where an answer goes, as a person can judge it.
type Place struct {
	Host string // "" for a program's own scheme
	// Scheme is that of a program on the owner's machine, "" for a host.
	Scheme string
	// Here says that the host is the machine of the browser.
	Here bool
}

// PlaceOf reads a redirect URI that was checked.
func PlaceOf(redirect string) Place {
	u, err := url.Parse(redirect)
	switch {
	case err != nil:
		return Place{}
	case u.Scheme == "https" || u.Scheme == "http":
		return Place{Host: u.Host, Here: isLoopback(u)}
	}
	return Place{Scheme: u.Scheme}
}
