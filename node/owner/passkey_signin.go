package owner

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"agentlink/node"
)

// byPasskey is the kind of wrong assertions from one address: nobody can guess a
// signature, the count only keeps the work small, and so no stranger's errors
// shut the owner out.
func (a *Access) byPasskey(client Client) kind {
	return kind{bucket: "passkey " + hex.EncodeToString(a.mac("address", client.IP)), how: HowPasskey, plural: "passkeys"}
}

// BeginSignIn gives what navigator.credentials.get takes, as JSON. Codes:
// not_found where there is no passkey for this site; bad_request where it knows
// none.
func (a *Access) BeginSignIn(tx node.Tx, site Site) ([]byte, error) {
	return a.request(tx, site, signingIn)
}

// BeginConfirm is BeginSignIn within a session.
func (a *Access) BeginConfirm(tx node.Tx, site Site, s Session) ([]byte, error) {
	return a.request(tx, site, confirming(s))
}

func (a *Access) request(tx node.Tx, site Site, purpose string) ([]byte, error) {
	p, err := a.person(tx, site)
	if err != nil {
		return nil, err
	}
	if len(p.credentials) == 0 {
		return nil, node.Errorf(node.NotFound, "There is no passkey for this address: sign in another way.")
	}
	options, _, err := site.party.BeginDiscoverableLogin(webauthn.WithAllowedCredentials(hinted(p.credentials)))
	if err != nil {
		return nil, node.Wrap(err, "begin to sign in")
	}
	options.Response.Challenge = a.newChallenge(tx, purpose, site)
	encoded, err := json.Marshal(options)
	return encoded, node.Wrap(err, "write the options to sign in")
}

// hinted lists the credentials only where an authenticator needs it, as one does
// that keeps none itself: whoever opens the page can read the list.
func hinted(credentials []webauthn.Credential) []protocol.CredentialDescriptor {
	for _, credential := range credentials {
		if resident := credential.Extensions.RK; resident == nil || !*resident {
			return webauthn.Credentials(credentials).CredentialDescriptors()
		}
	}
	return nil
}

// SignInByPasskey takes what the browser gave, as JSON, and opens a session.
// Codes: bad_request, unauthorized, rate_limited, not_found where the node has
// no owner yet.
func (a *Access) SignInByPasskey(ctx context.Context, site Site, client Client, answer []byte) (cookie string, s Session, err error) {
	check := assertion{access: a, site: site, purpose: signingIn, kind: a.byPasskey(client), actor: stranger}
	err = check.run(ctx, answer, func(tx node.Tx, owner Owner) (err error) {
		cookie, s, err = a.open(tx, owner, HowPasskey, client)
		return err
	})
	return cookie, s, err
}

// ConfirmByPasskey makes a session fresh. Codes: those of SignInByPasskey.
func (a *Access) ConfirmByPasskey(ctx context.Context, site Site, s Session, answer []byte) error {
	check := assertion{
		access: a, site: site, purpose: confirming(s), kind: again(s, HowPasskey, "passkeys"), actor: s.Actor(),
	}
	return check.run(ctx, answer, func(tx node.Tx, _ Owner) error { return a.confirm(tx, s, HowPasskey) })
}

// assertion is one use of a passkey.
type assertion struct {
	access  *Access
	site    Site
	purpose string
	kind    kind
	actor   node.Actor
}

// run checks the answer and does then in the same transaction. What is wrong
// with it stands in the audit log and not in the error.
func (c assertion) run(ctx context.Context, answer []byte, then func(node.Tx, Owner) error) error {
	if c.site.party == nil {
		return node.Errorf(node.BadRequest, "Passkeys do not work at this address.")
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return unreadable(err)
	}
	g, err := c.access.owner.take(ctx, c.kind)
	if err != nil {
		return err
	}
	why := ""
	err = c.access.db.InTx(context.WithoutCancel(ctx), func(tx node.Tx) error {
		if why, err = c.check(tx, g.owner, parsed); err != nil {
			return err
		}
		if why != "" {
			return c.access.owner.recordWrong(tx, c.actor, g, why)
		}
		if err := c.access.owner.forget(tx, g); err != nil {
			return err
		}
		return then(tx, g.owner)
	})
	if err == nil && why != "" {
		err = node.Errorf(node.Unauthorized, "The passkey was not accepted. Try again, or sign in another way.")
	}
	return err
}

// check says in why what is wrong, "" for nothing. The challenge is spent either
// way once the passkey is known.
func (c assertion) check(tx node.Tx, owner Owner, parsed *protocol.ParsedCredentialAssertionData) (why string, err error) {
	passkey, err := c.access.store.LockPasskey(tx, parsed.RawID)
	if err != nil {
		if node.CodeOf(err) == node.NotFound {
			return "unknown passkey", nil
		}
		return "", err
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	if why, err := c.access.spendChallenge(tx, challenge, c.purpose, c.site); err != nil || why != "" {
		return why, err
	}
	known, err := passkey.credential()
	if err != nil {
		return "", err
	}
	used, err := c.site.party.ValidateLogin(person{owner: owner, credentials: []webauthn.Credential{known}}, webauthn.SessionData{
		Challenge: challenge, RelyingPartyID: c.site.Party(), UserID: []byte(owner.ID), UserVerification: protocol.VerificationRequired,
	}, parsed)
	if err != nil {
		return reasonOf(err), nil
	}
	if used.Authenticator.CloneWarning {
		// The counter of the true authenticator would have gone up: there are two.
		return "counter went back", nil
	}
	if passkey.Credential, err = record(used); err != nil {
		return "", node.Wrap(err, "write a passkey")
	}
	passkey.LastUsedAt = tx.Now()
	return "", c.access.store.UsedPasskey(tx, passkey)
}

// reasonOf is the library's short text, which quotes nothing of the answer.
func reasonOf(err error) string {
	var known *protocol.Error
	if errors.As(err, &known) && known.Details != "" {
		return known.Details
	}
	return "not verified"
}
