package owner

import (
	"context"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// Purpose is what a one-time link is for.
type Purpose string

// The purposes.
const (
	LinkSetUp  Purpose = "setup"  // makes the owner
	LinkSignIn Purpose = "signin" // opens a session
)

// How long links last. The one for the set-up is printed at the start of a node,
// which may be a while before somebody reads it.
const (
	SignInLinkTime = 10 * time.Minute
	SetUpLinkTime  = 24 * time.Hour
	// rememberLinks is how long a link that is over can still say so.
	rememberLinks = 7 * 24 * time.Hour
)

// Where the dashboard serves them; the secret follows. Opening a link shows a page
// with a button: what only looks at links, such as a chat's preview, uses none up.
const (
	SetUpPath  = "/setup/link/"
	SignInPath = "/link/"
)

// Link is a one-time link.
type Link struct {
	// URL holds the secret and is known only when the link is made.
	URL       string
	Purpose   Purpose
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time // zero while it is unused
}

// OneTimeLink makes a link. Whether the caller may have it is for the caller to
// check.
func (a *Access) OneTimeLink(tx node.Tx, actor node.Actor, purpose Purpose) (Link, error) {
	path, life := SignInPath, SignInLinkTime
	if purpose == LinkSetUp {
		path, life = SetUpPath, SetUpLinkTime
	}
	secret := newSecret()
	link := Link{
		URL: a.Home().Origin + path + secret, Purpose: purpose,
		CreatedAt: tx.Now(), ExpiresAt: tx.Now().Add(life),
	}
	if err := a.store.InsertLink(tx, link, hashOf(secret), tx.Now().Add(-rememberLinks)); err != nil {
		return Link{}, err
	}
	err := a.log.Append(tx, audit.Event{Type: audit.OwnerLinkMade, Actor: actor, Data: map[string]any{"purpose": string(purpose)}})
	return link, err
}

// Link looks at a link without using it. Codes: unauthorized where it is
// unknown, used or over; the message says which.
func (a *Access) Link(tx node.Tx, purpose Purpose, secret string) (Link, error) {
	link, err := a.store.LinkByHash(tx, hashOf(secret))
	if err != nil && node.CodeOf(err) != node.NotFound {
		return Link{}, err
	}
	switch {
	case err != nil || link.Purpose != purpose:
		return Link{}, node.Errorf(node.Unauthorized, "This link leads nowhere. See that the whole of it was copied, or make a new one.")
	case !link.UsedAt.IsZero():
		return Link{}, node.Errorf(node.Unauthorized, "This link was used already; each works once. If that was not you, end the other sessions in the settings and change how you sign in.")
	case !tx.Now().Before(link.ExpiresAt):
		return Link{}, node.Errorf(node.Unauthorized, "This link is over. Make a new one.")
	}
	return link, nil
}

// spend uses a link up. A link that is not to be used is a refusal in refused,
// so that its audit row stays.
func (a *Access) spend(tx node.Tx, actor node.Actor, purpose Purpose, secret string) (refused, err error) {
	used, err := a.store.UseLink(tx, hashOf(secret), purpose)
	if err != nil {
		return nil, err
	}
	if used {
		err = a.log.Append(tx, audit.Event{Type: audit.OwnerLinkUsed, Actor: actor, Data: map[string]any{"purpose": string(purpose)}})
		return nil, err
	}
	_, refused = a.Link(tx, purpose, secret)
	switch {
	case refused == nil: // it was not used, so that it cannot be good
		return nil, node.Errorf(node.Unavailable, "The link could not be used just now: try again.")
	case node.CodeOf(refused) != node.Unauthorized:
		return nil, refused
	}
	return refused, a.recordRefusedLink(tx, actor, secret)
}

// recordRefusedLink tells the owner of a link that is tried again. What was never
// a link is not worth a row.
func (a *Access) recordRefusedLink(tx node.Tx, actor node.Actor, secret string) error {
	link, err := a.store.LinkByHash(tx, hashOf(secret))
	if err != nil {
		if node.CodeOf(err) == node.NotFound {
			return nil
		}
		return err
	}
	data := map[string]any{"how": string(HowLink), "purpose": string(link.Purpose), "why": "over"}
	if !link.UsedAt.IsZero() {
		data["why"] = "used"
	}
	return a.log.Append(tx, audit.Event{Type: audit.OwnerAuthFailed, Actor: actor, Data: data})
}

// SignInByLink uses a link up and opens a session. Code: unauthorized.
func (a *Access) SignInByLink(ctx context.Context, client Client, secret string) (cookie string, s Session, err error) {
	var refused error
	err = a.db.InTx(ctx, func(tx node.Tx) error {
		owner, err := a.owner.Owner(tx)
		if err != nil {
			return err
		}
		actor := node.Actor{Kind: node.ActorOwner, OwnerID: owner.ID, Via: stranger.Via}
		if refused, err = a.spend(tx, actor, LinkSignIn, secret); err != nil || refused != nil {
			return err
		}
		cookie, s, err = a.open(tx, owner, HowLink, client)
		return err
	})
	if err == nil {
		err = refused
	}
	return cookie, s, err
}
