package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/oauth"
	"agentlink/node/store"
	"agentlink/policy"
)

// OAuth tests programs of others, their authorizations, codes and tokens.
func OAuth(t *testing.T, open func(t *testing.T) *store.Store) {
	for name, test := range map[string]func(*testing.T, *store.Store){
		"clients":        clients,
		"trimmed":        trimmedClients,
		"authorizations": authorizations,
		"secrets":        secrets,
		"access":         oauthAccess,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func aClient(id string) oauth.Client {
	return oauth.Client{
		ID: id, ClientID: id, Name: "A program", RedirectURIs: []string{"https://program.example/callback"},
		Method: oauth.MethodPost, SecretHash: "hash of " + id, CreatedAt: start,
	}
}

func insertClient(t *testing.T, s *store.Store, c oauth.Client) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) error {
		fresh, err := s.InsertOAuthClient(tx, c)
		if !fresh {
			t.Errorf("the client %s is not new", c.ID)
		}
		return err
	})
}

func clients(t *testing.T, s *store.Store) {
	registered, documented := aClient("c1"), aClient("c2")
	documented.ClientID, documented.FetchedAt = "https://program.example/client.json", start
	documented.Method, documented.SecretHash = oauth.MethodNone, ""
	insertClient(t, s, registered)
	insertClient(t, s, documented)
	inTx(t, s, func(tx node.Tx) error {
		again := documented
		again.ID = "c3"
		fresh, err := s.InsertOAuthClient(tx, again)
		if fresh {
			t.Error("two clients have one id")
		}
		again.Name, again.RedirectURIs, again.FetchedAt = "Another name", []string{"https://program.example/b"}, start.Add(time.Hour)
		documented.Name, documented.RedirectURIs, documented.FetchedAt = again.Name, again.RedirectURIs, again.FetchedAt
		wantCode(t, s.ApproveOAuthClient(tx, "c3", start), node.NotFound)
		wantCode(t, s.SetOAuthClient(tx, oauth.Client{ClientID: "nobody"}), node.NotFound)
		return errors.Join(err, s.SetOAuthClient(tx, again))
	})
	inTx(t, s, func(tx node.Tx) error {
		registered.ApprovedAt = start.Add(time.Minute)
		err := errors.Join(s.ApproveOAuthClient(tx, "c1", registered.ApprovedAt), s.ApproveOAuthClient(tx, "c1", start.Add(time.Hour)))
		one, err1 := s.OAuthClient(tx, "c1")
		two, err2 := s.OAuthClient(tx, documented.ClientID)
		if diff := cmp.Diff([]oauth.Client{registered, documented}, []oauth.Client{one, two}); diff != "" {
			t.Errorf("clients (-want +got):\n%s", diff)
		}
		_, err3 := s.OAuthClient(tx, "c2") // the row's id is no client id
		wantCode(t, err3, node.NotFound)
		return errors.Join(err, err1, err2)
	})
}

func trimmedClients(t *testing.T, s *store.Store) {
	for i := range 6 {
		c := aClient(fmt.Sprintf("c%d", i))
		c.CreatedAt = start.Add(time.Duration(i) * time.Minute)
		if i == 1 {
			c.ApprovedAt = c.CreatedAt
		}
		insertClient(t, s, c)
	}
	inTx(t, s, func(tx node.Tx) error { return s.TrimOAuthClients(tx, start.Add(time.Minute), 3) })
	var left []string
	inTx(t, s, func(tx node.Tx) error {
		for i := range 6 {
			c, err := s.OAuthClient(tx, fmt.Sprintf("c%d", i))
			if err == nil {
				left = append(left, c.ID)
			} else if node.CodeOf(err) != node.NotFound {
				return err
			}
		}
		return nil
	})
	if diff := cmp.Diff([]string{"c1", "c3", "c4", "c5"}, left); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

func anAuthorization(id, agentID string) oauth.Authorization {
	return oauth.Authorization{
		ID: id, OwnerID: "owner", AgentID: agentID, ClientID: "c1", Resource: "https://node.example/mcp", Status: oauth.Pending,
		CreatedAt: start, LastUsedAt: start, ExpiresAt: start.Add(time.Minute),
	}
}

// insertAuthorization says whether it was taken.
func insertAuthorization(t *testing.T, s *store.Store, a oauth.Authorization) (taken bool) {
	t.Helper()
	inTx(t, s, func(tx node.Tx) (err error) {
		taken, err = s.InsertAuthorization(tx, a)
		return err
	})
	return taken
}

func authorizations(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	disabled := anAgent("a2")
	disabled.Status = policy.Disabled
	insertAgent(t, s, disabled)
	insertClient(t, s, aClient("c1"))
	foreign := anAuthorization("z3", "a1")
	foreign.OwnerID = "another owner"
	for _, test := range []struct {
		authorization oauth.Authorization
		want          bool
	}{{anAuthorization("z1", "a1"), true}, {anAuthorization("z2", "a1"), true}, {anAuthorization("z4", "a2"), false}, {anAuthorization("z5", "a9"), false}, {foreign, false}} {
		if taken := insertAuthorization(t, s, test.authorization); taken != test.want {
			t.Errorf("%s for %s: %v", test.authorization.ID, test.authorization.AgentID, taken)
		}
	}
	listed := func(tx node.Tx, want ...oauth.Authorization) {
		t.Helper()
		connected, err := s.Authorizations(tx, "a1")
		var got []oauth.Authorization
		for _, c := range connected {
			got = append(got, c.Authorization)
			if c.Client.Name != "A program" || len(c.Client.RedirectURIs) != 1 {
				t.Errorf("its client is %+v", c.Client)
			}
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("listed (-want +got): %v\n%s", err, diff)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		listed(tx)
		later := tx.Now().Add(time.Hour)
		first, err1 := s.UseAuthorization(tx, "z1", start.Add(time.Second), later)
		second, err2 := s.UseAuthorization(tx, "z2", start.Add(time.Second), later)
		one, two := anAuthorization("z1", "a1"), anAuthorization("z2", "a1")
		one.Status, one.LastUsedAt, one.ExpiresAt = oauth.Active, start.Add(time.Second), later
		two.Status, two.LastUsedAt, two.ExpiresAt = oauth.Active, start.Add(time.Second), later
		listed(tx, two, one)
		ended, err3 := s.EndAuthorization(tx, "z2", tx.Now())
		again, err4 := s.EndAuthorization(tx, "z2", tx.Now())
		used, err5 := s.UseAuthorization(tx, "z2", later, later)
		if !first || !second || !ended || again || used {
			t.Errorf("used %v %v, ended %v, again %v, used after it %v", first, second, ended, again, used)
		}
		listed(tx, one)
		_, err6 := s.UseAuthorization(tx, "z1", start, tx.Now()) // and it is over
		listed(tx)
		got, err7 := s.Authorization(tx, "z1")
		one.LastUsedAt, one.ExpiresAt, one.AgentActive = start, tx.Now(), true
		if diff := cmp.Diff(one, got); diff != "" {
			t.Errorf("found (-want +got):\n%s", diff)
		}
		_, err := s.Authorization(tx, "z9")
		wantCode(t, err, node.NotFound)
		return errors.Join(err1, err2, err3, err4, err5, err6, err7)
	})
}

func secrets(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	insertClient(t, s, aClient("c1"))
	insertAuthorization(t, s, anAuthorization("z1", "a1"))
	code := oauth.Secret{
		Hash: "h1", Kind: oauth.KindCode, AuthorizationID: "z1", CreatedAt: start, ExpiresAt: start.Add(time.Minute),
		RedirectURI: "https://program.example/callback", Challenge: "challenge",
	}
	refresh := oauth.Secret{Hash: "h2", Kind: oauth.KindRefresh, AuthorizationID: "z1", CreatedAt: start, ExpiresAt: start.Add(time.Hour)}
	inTx(t, s, func(tx node.Tx) error { return errors.Join(s.InsertSecret(tx, code), s.InsertSecret(tx, refresh)) })
	inTx(t, s, func(tx node.Tx) error {
		spent, err1 := s.SpendSecret(tx, "h1", start.Add(time.Second))
		again, err2 := s.SpendSecret(tx, "h1", start.Add(2*time.Second))
		unknown, err3 := s.SpendSecret(tx, "h9", start)
		if !spent || again || unknown {
			t.Errorf("spent %v, again %v, unknown %v", spent, again, unknown)
		}
		code.UsedAt = start.Add(time.Second)
		one, err4 := s.LockSecret(tx, "h1")
		two, err5 := s.LockSecret(tx, "h2")
		if diff := cmp.Diff([]oauth.Secret{code, refresh}, []oauth.Secret{one, two}); diff != "" {
			t.Errorf("secrets (-want +got):\n%s", diff)
		}
		err6 := s.ForgetSecrets(tx, "z1", start.Add(time.Minute+time.Microsecond))
		_, gone := s.LockSecret(tx, "h1")
		wantCode(t, gone, node.NotFound)
		_, err7 := s.LockSecret(tx, "h2")
		return errors.Join(err1, err2, err3, err4, err5, err6, err7)
	})
}

func oauthAccess(t *testing.T, s *store.Store) {
	insertAgent(t, s, anAgent("a1"))
	insertClient(t, s, aClient("c1"))
	insertAuthorization(t, s, anAuthorization("z1", "a1"))
	over := start.Add(15 * time.Minute)
	inTx(t, s, func(tx node.Tx) error {
		return errors.Join(
			s.InsertSecret(tx, oauth.Secret{Hash: "h1", Kind: oauth.KindAccess, AuthorizationID: "z1", CreatedAt: start, ExpiresAt: over}),
			s.InsertSecret(tx, oauth.Secret{Hash: "h2", Kind: oauth.KindRefresh, AuthorizationID: "z1", CreatedAt: start, ExpiresAt: over}))
	})
	opens := func(tx node.Tx, hash string, at time.Time, want bool) {
		t.Helper()
		got, err := s.OAuthAccess(tx, hash, at)
		if !want {
			wantCode(t, err, node.NotFound)
			return
		}
		if diff := cmp.Diff(oauth.Access{AgentID: "a1", ClientID: "c1", ClientName: "A program", Expires: over}, got); err != nil || diff != "" {
			t.Errorf("access: %v\n%s", err, diff)
		}
	}
	inTx(t, s, func(tx node.Tx) error {
		opens(tx, "h1", start, false) // nobody has come for it yet
		_, err := s.UseAuthorization(tx, "z1", start, start.Add(time.Hour))
		opens(tx, "h1", start, true)
		opens(tx, "h1", over.Add(-time.Microsecond), true)
		opens(tx, "h1", over, false)
		opens(tx, "h2", start, false) // no access token
		opens(tx, "h9", start, false)
		agent := anAgent("a1")
		agent.Status = policy.Disabled
		err = errors.Join(err, s.SaveAgent(tx, agent))
		opens(tx, "h1", start, false)
		agent.Status = policy.Active
		err = errors.Join(err, s.SaveAgent(tx, agent))
		opens(tx, "h1", start, true)
		_, errEnd := s.EndAuthorization(tx, "z1", start)
		opens(tx, "h1", start, false)
		return errors.Join(err, errEnd)
	})
}
