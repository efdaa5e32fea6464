package store_test

import (
	"errors"
	"strings"
	"testing"

	"agentlink/node"
	"agentlink/node/owner"
	"agentlink/node/store/storetest"
)

// TestOwnerAccessIsSealed: neither browsers, addresses nor passkeys lie open in
// the database.
func TestOwnerAccessIsSealed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, open storetest.Opener) {
		s := open(t)
		inTx(t, s, func(tx node.Tx) error {
			session := owner.Session{ID: "s1", OwnerID: "o1", How: owner.HowPasskey, UserAgent: "canary browser", IP: "canary address"}
			passkey := owner.Passkey{
				ID: "p1", OwnerID: "o1", Name: "canary name", Party: "canary party",
				CredentialID: []byte("canary id"), Credential: []byte(`{"x":"canary credential"}`),
			}
			_, err := s.InsertPasskey(tx, passkey)
			_, errUsed := s.LockPasskey(tx, passkey.CredentialID)
			return errors.Join(err, errUsed, s.UsedPasskey(tx, passkey), s.InsertSession(tx, session, "hash"))
		})
		dump := dump(t, s)
		for _, known := range []string{"s1", "p1", "hash", "passkey"} {
			if !strings.Contains(dump, known) {
				t.Errorf("the dump lacks %q, so it says nothing:\n%s", known, dump)
			}
		}
		if at := strings.Index(dump, "canary"); at >= 0 {
			t.Errorf("in the clear: %q", dump[at:at+16])
		}
	})
}
