package store_test

import (
	"errors"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/oauth"
	"agentlink/node/store/storetest"
	"agentlink/policy"
)

// TestOAuthIsSealed: what programs say of themselves, and where answers go, does
// not lie open in the database.
func TestOAuthIsSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		inTx(t, s, func(tx node.Tx) error {
			_, err1 := s.InsertAgent(tx, policy.Agent{ID: "a1", OwnerID: "o1", Handle: "scout", Mode: policy.Manual, Status: policy.Active, KeyHash: "k", KeyGeneration: 1, RulesRev: 1, RulesStamp: "s"})
			_, err2 := s.InsertOAuthClient(tx, oauth.Client{
				ID: "client1", ClientID: "https://canary.example/id", Name: "canary name", RedirectURIs: []string{"https://canary.example/callback"}, Method: oauth.MethodNone,
			})
			taken, err3 := s.InsertAuthorization(tx, oauth.Authorization{ID: "z1", OwnerID: "o1", AgentID: "a1", ClientID: "client1", Resource: "canary resource", Status: oauth.Pending})
			if !taken {
				t.Error("the authorization was not taken")
			}
			return errors.Join(err1, err2, err3, s.InsertSecret(tx, oauth.Secret{
				Hash: "hash1", Kind: oauth.KindCode, AuthorizationID: "z1", RedirectURI: "https://canary.example/callback", Challenge: "canary challenge",
			}))
		})
		dump := dump(t, s)
		for _, known := range []string{"client1", "z1", "hash1"} {
			if !strings.Contains(dump, known) {
				t.Errorf("the dump lacks %q, so it says nothing:\n%s", known, dump)
			}
		}
		if at := strings.Index(dump, "canary"); at >= 0 {
			t.Errorf("in the clear: %q", dump[at:at+16])
		}
	})
}
