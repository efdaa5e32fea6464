package owner_test

import (
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/json"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/node/owner"
	"agentlink/node/store"
	"agentlink/node/store/storetest"
)

const (
	password    = "correct horse battery staple"
	fingerprint = "abcdefgh234567abcdefgh234567abcdefgh234567abcdefgh"
)

// origins are the addresses of the dashboard in these tests: this machine, a
// name with TLS, and an IP address.
var origins = []string{"http://localhost:7410", "https://node.example.org", "https://192.0.2.7:7410"}

// world is a node's owner and the ways in, on a real database.
type world struct {
	*testing.T
	store  *store.Store
	clock  *node.FakeClock
	owner  *owner.Service
	access *owner.Access
	home   owner.Site
}

var someone = owner.Client{UserAgent: "A browser", IP: "127.0.0.1"}

// each runs a test on both databases, in a world without an owner.
func each(t *testing.T, test func(w world)) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, fresh func(*testing.T) storetest.Database) {
		database := fresh(t)
		clock := node.NewFakeClock(time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC))
		database.Clock = clock
		s := database.Open(t)
		log := audit.New(s, []byte("key"))
		service := owner.New(s, s, log, node.RandomIDs{})
		access, err := owner.NewAccess(owner.AccessConfig{
			DB: s, Store: s, Owner: service, Audit: log, IDs: node.RandomIDs{}, Key: []byte("session key"),
			Fingerprint: fingerprint, Origins: origins,
		})
		if err != nil {
			t.Fatal(err)
		}
		test(world{T: t, store: s, clock: clock, owner: service, access: access, home: access.Home()})
	})
}

// eachSetUp runs a test in a world whose owner has a password.
func eachSetUp(t *testing.T, test func(w world)) {
	each(t, func(w world) {
		w.in(func(tx node.Tx) error {
			_, err := w.owner.Create(tx, node.Actor{Kind: node.ActorOwner}, "Ada", owner.Cheap(password))
			return err
		})
		test(w)
	})
}

// in runs a transaction that has to succeed.
func (w world) in(f func(tx node.Tx) error) {
	w.Helper()
	if err := w.store.InTx(w.Context(), f); err != nil {
		w.Fatal(err)
	}
}

// try runs a transaction for its error.
func (w world) try(f func(tx node.Tx) error) error { return w.store.InTx(w.Context(), f) }

// want fails the test unless the error has the code; "" is none.
func (w world) want(err error, code node.Code) {
	w.Helper()
	if err == nil && code == "" {
		return
	}
	if e, ok := node.AsError(err); !ok || e.Code != code {
		w.Fatalf("got %v, want code %q", err, code)
	}
}

// signIn opens a session with the password.
func (w world) signIn() (string, owner.Session) {
	w.Helper()
	cookie, s, err := w.access.SignInByPassword(w.Context(), someone, password)
	w.want(err, "")
	return cookie, s
}

// open says whether a cookie's session is open.
func (w world) open(cookie string) bool {
	w.Helper()
	_, err := w.access.Visit(w.Context(), cookie)
	if err != nil {
		w.want(err, node.Unauthorized)
	}
	return err == nil
}

// count counts the audit rows of a type.
func (w world) count(t audit.Type) (count int) {
	w.Helper()
	return len(w.events(t))
}

// events gives the data of the audit rows of a type.
func (w world) events(t audit.Type) (events []map[string]any) {
	w.Helper()
	w.in(func(tx node.Tx) error {
		rows, err := w.store.AuditRows(tx, audit.Filter{Types: []audit.Type{t}, Limit: 1000})
		for _, row := range rows {
			var data map[string]any
			if err := json.Unmarshal(row.Data, &data); err != nil {
				return err
			}
			events = append(events, data)
		}
		return err
	})
	return events
}

// phone is an authenticator that knows its user, with one key.
type phone struct {
	virtualwebauthn.Authenticator
	key virtualwebauthn.Credential
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	for {
		key := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2)
		parsed, err := x509.ParsePKCS8PrivateKey(key.Key.Data)
		if err != nil {
			t.Fatal(err)
		}
		// The library drops leading zeros of a key's coordinates, which are then
		// no key any more.
		if point, err := parsed.(*ecdsa.PrivateKey).PublicKey.Bytes(); err == nil && point[1] != 0 && point[33] != 0 {
			return &phone{Authenticator: virtualwebauthn.NewAuthenticator(), key: key}
		}
	}
}

func (p *phone) party(origin, id string) virtualwebauthn.RelyingParty {
	return virtualwebauthn.RelyingParty{ID: id, Origin: origin, Name: "AgentLink"}
}

// create answers navigator.credentials.create as a browser at an origin does.
func (p *phone) create(t *testing.T, options []byte, origin, id string) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(options))
	if err != nil {
		t.Fatal(err)
	}
	p.Options.UserHandle = []byte(parsed.UserID)
	return []byte(virtualwebauthn.CreateAttestationResponse(p.party(origin, id), p.Authenticator, p.key, *parsed))
}

// get answers navigator.credentials.get.
func (p *phone) get(t *testing.T, options []byte, origin, id string) []byte {
	t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(options))
	if err != nil {
		t.Fatal(err)
	}
	return []byte(virtualwebauthn.CreateAssertionResponse(p.party(origin, id), p.Authenticator, p.key, *parsed))
}

// add makes the phone's key a passkey of the owner's.
func (w world) add(p *phone, site owner.Site, s owner.Session) owner.Passkey {
	w.Helper()
	answer := p.create(w.T, w.beginPasskey(site, s), site.Origin, site.Party())
	var passkey owner.Passkey
	w.in(func(tx node.Tx) (err error) {
		passkey, err = w.access.AddPasskey(tx, site, s, "Telephone", answer)
		return err
	})
	return passkey
}

func (w world) beginPasskey(site owner.Site, s owner.Session) (options []byte) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		options, err = w.access.BeginPasskey(tx, site, s)
		return err
	})
	return options
}

func (w world) beginSignIn(site owner.Site) (options []byte) {
	w.Helper()
	w.in(func(tx node.Tx) (err error) {
		options, err = w.access.BeginSignIn(tx, site)
		return err
	})
	return options
}
