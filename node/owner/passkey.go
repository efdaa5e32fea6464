package owner

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"agentlink/node"
	"agentlink/node/audit"
)

// Limits of passkeys.
const (
	MaxPasskeys         = 20
	MaxPasskeyNameChars = 60
)

// Passkey is a key of the owner's that an authenticator keeps.
type Passkey struct {
	ID      string
	OwnerID string
	Name    string // the owner's name for it; sealed, as all of the following
	// Party is the host that it is bound to.
	Party        string
	CredentialID []byte
	Credential   []byte // JSON of the credential's record

	CreatedAt  time.Time
	LastUsedAt time.Time // zero before its first use
}

// record is what is remembered of an authenticator. What it attested is not: it
// says who made the device and decides nothing here.
func record(credential *webauthn.Credential) ([]byte, error) {
	credential.Attestation = webauthn.CredentialAttestation{}
	return json.Marshal(credential)
}

func (p Passkey) credential() (c webauthn.Credential, err error) {
	err = json.Unmarshal(p.Credential, &c)
	return c, node.Wrap(err, "read a passkey")
}

// person is the owner as the library knows a user.
type person struct {
	owner       Owner
	credentials []webauthn.Credential
}

// WebAuthnID implements webauthn.User.
func (p person) WebAuthnID() []byte { return []byte(p.owner.ID) }

// WebAuthnName implements webauthn.User.
func (p person) WebAuthnName() string { return p.owner.Name }

// WebAuthnDisplayName implements webauthn.User.
func (p person) WebAuthnDisplayName() string { return p.owner.Name }

// WebAuthnCredentials implements webauthn.User.
func (p person) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

func (a *Access) person(tx node.Tx, site Site) (p person, err error) {
	if site.party == nil {
		return person{}, node.Errorf(node.BadRequest, "Passkeys do not work at this address: open %s.", a.Home().Origin)
	}
	if p.owner, err = a.owner.Owner(tx); err != nil {
		return person{}, err
	}
	passkeys, err := a.store.Passkeys(tx)
	if err != nil {
		return person{}, err
	}
	for _, passkey := range passkeys {
		if passkey.Party != site.Party() {
			continue
		}
		credential, err := passkey.credential()
		if err != nil {
			return person{}, err
		}
		p.credentials = append(p.credentials, credential)
	}
	return p, nil
}

// Passkeys lists the owner's passkeys, the oldest first.
func (a *Access) Passkeys(tx node.Tx) ([]Passkey, error) { return a.store.Passkeys(tx) }

// BeginPasskey gives what navigator.credentials.create takes, as JSON. Codes:
// unauthorized without a fresh session; bad_request where the site knows no
// passkeys.
func (a *Access) BeginPasskey(tx node.Tx, site Site, s Session) ([]byte, error) {
	s, _, err := a.mayChangeWays(tx, s)
	if err != nil {
		return nil, err
	}
	p, err := a.person(tx, site)
	if err != nil {
		return nil, err
	}
	options, _, err := a.creation(site, p)
	if err != nil {
		return nil, err
	}
	options.Response.Challenge = a.newChallenge(tx, adding(s), site)
	encoded, err := json.Marshal(options)
	return encoded, node.Wrap(err, "write the options of a passkey")
}

// creation is the same before and after: what the second part checks is what the
// first asked for.
func (a *Access) creation(site Site, p person) (*protocol.CredentialCreation, *webauthn.SessionData, error) {
	known := webauthn.Credentials(p.credentials).CredentialDescriptors()
	options, session, err := site.party.BeginRegistration(p,
		webauthn.WithExclusions(known), webauthn.WithExtensions(webauthn.WithExtensionCredProps()))
	return options, session, node.Wrap(err, "begin a passkey")
}

// AddPasskey takes what the browser gave, as JSON. Codes: bad_request,
// unauthorized without a fresh session, conflict where it is known already.
func (a *Access) AddPasskey(tx node.Tx, site Site, s Session, name string, answer []byte) (Passkey, error) {
	name, err := passkeyName(name)
	if err != nil {
		return Passkey{}, err
	}
	s, first, err := a.mayChangeWays(tx, s)
	if err != nil {
		return Passkey{}, err
	}
	credential, err := a.register(tx, site, s, answer)
	if err != nil {
		return Passkey{}, err
	}
	passkey, err := a.keep(tx, site, s, name, credential)
	if err != nil {
		return Passkey{}, err
	}
	return passkey, a.firstWayIn(tx, s, first, HowPasskey)
}

func passkeyName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > MaxPasskeyNameChars {
		return "", node.BadFields(node.Field{Field: "name", Problem: fmt.Sprintf("must have 1 to %d characters", MaxPasskeyNameChars)})
	}
	return name, nil
}

// register checks what an authenticator made.
func (a *Access) register(tx node.Tx, site Site, s Session, answer []byte) (*webauthn.Credential, error) {
	p, err := a.person(tx, site)
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return nil, unreadable(err)
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	why, err := a.spendChallenge(tx, challenge, adding(s), site)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return nil, node.Errorf(node.BadRequest, "It took too long, or was done before: begin again.")
	}
	_, session, err := a.creation(site, p)
	if err != nil {
		return nil, err
	}
	session.Challenge = challenge
	credential, err := site.party.CreateCredential(p, *session, parsed)
	if err != nil {
		return nil, &node.Error{Code: node.BadRequest, Message: "The passkey was not accepted: it must be made at this address, and check that it is you.", Err: err}
	}
	return credential, nil
}

func unreadable(err error) error {
	return &node.Error{Code: node.BadRequest, Message: "The browser's answer is not readable: begin again.", Err: err}
}

func (a *Access) keep(tx node.Tx, site Site, s Session, name string, credential *webauthn.Credential) (Passkey, error) {
	all, err := a.store.Passkeys(tx)
	if err != nil {
		return Passkey{}, err
	}
	if len(all) >= MaxPasskeys {
		return Passkey{}, node.ConflictFor(node.ReasonBadState, "There are %d passkeys already: remove one first.", MaxPasskeys)
	}
	encoded, err := record(credential)
	if err != nil {
		return Passkey{}, node.Wrap(err, "write a passkey")
	}
	passkey := Passkey{
		ID: a.ids.New(), OwnerID: s.OwnerID, Name: name, Party: site.Party(),
		CredentialID: credential.ID, Credential: encoded, CreatedAt: tx.Now(),
	}
	fresh, err := a.store.InsertPasskey(tx, passkey)
	if err != nil {
		return Passkey{}, err
	}
	if !fresh {
		return Passkey{}, node.ConflictFor(node.ReasonBadState, "This passkey is known already.")
	}
	err = a.log.Append(tx, audit.Event{Type: audit.OwnerPasskeyAdded, Actor: s.Actor(), Subject: passkey.ID})
	return passkey, err
}

// RemovePasskey forgets a passkey. Codes: unauthorized without a fresh session,
// not_found, conflict where it is the last way in.
func (a *Access) RemovePasskey(tx node.Tx, s Session, id string) error {
	s, _, err := a.mayChangeWays(tx, s)
	if err != nil {
		return err
	}
	was, err := a.store.DeletePasskey(tx, id)
	if err != nil {
		return err
	}
	if !was {
		return node.Errorf(node.NotFound, "This passkey is gone already.")
	}
	if left, err := a.hasWayIn(tx); err != nil || !left {
		if err == nil {
			err = node.ConflictFor(node.ReasonBadState, "This is the only way in: add another passkey or a password first.")
		}
		return err
	}
	return a.log.Append(tx, audit.Event{Type: audit.OwnerPasskeyRemoved, Actor: s.Actor(), Subject: id})
}
