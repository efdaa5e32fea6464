package coordination

import (
	"strings"
	"testing"

	"agentlink/node"
)

// TestInvitationLinks: a link is read as it was made, or not at all.
func TestInvitationLinks(t *testing.T) {
	const address = "ben@ben.test"
	if _, err := node.ParseAddress(address); err != nil {
		t.Fatal(err)
	}
	fingerprint, secret := strings.Repeat("a", fingerprintLength), strings.Repeat("s", 22)
	good := "https://ben.test/#" + address + "/" + fingerprint + "/" + secret
	if got, err := parseInvitation(good); err != nil || got.fingerprint != fingerprint || got.secret != secret || got.address.String() != address {
		t.Errorf("%+v, %v", got, err)
	}
	long := strings.Replace(good, "/#", "/"+strings.Repeat("x", 1024-len(good))+"#", 1)
	if _, err := parseInvitation(long); err != nil || len(long) != 1024 {
		t.Errorf("with %d characters: %v", len(long), err)
	}
	for name, link := range map[string]string{
		"nothing": "", "no address of the web": "https://ben.test:port/#" + address, "more than 1,024 characters": strings.Replace(long, "x", "xx", 1),
		"no secret":             "https://ben.test/#" + address + "/" + fingerprint,
		"more":                  good + "/more",
		"a shorter fingerprint": "https://ben.test/#" + address + "/" + fingerprint[1:] + "/" + secret,
		"a longer fingerprint":  "https://ben.test/#" + address + "/a" + fingerprint + "/" + secret,
		"a shorter secret":      good[:len(good)-1],
		"a longer secret":       good + "s",
		"no agent's address":    "https://ben.test/#ben/" + fingerprint + "/" + secret,
	} {
		if got, err := parseInvitation(link); node.CodeOf(err) != node.BadRequest {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}
