package browsertest

import (
	"testing"

	"github.com/chromedp/cdproto/webauthn"

	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/node/owner"
)

// authenticator puts one into the tab that keeps its keys and knows its user.
func (b *tab) authenticator() webauthn.AuthenticatorID {
	b.t.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	return call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}}).AuthenticatorID
}

// A new node, from the printed link to the first agent, with a passkey; and then
// the passkey's life: signing in, confirming, a second one, the end of the first.
// Each page on the way is one that anybody can use.
func TestSetUpWithPasskey(t *testing.T) {
	t.Parallel()
	browser(t)
	n := nodetest.Start(t, nodetest.Options{New: true})
	b := open(t, n.DashboardURL())
	first := b.authenticator()

	b.visit("/login")
	b.says("not set up yet")
	b.look("before the set-up")
	b.visit(n.SetUpLink)
	b.look("the set-up's link")
	b.fill("Your name", "Ada")
	b.follow("This node is mine")
	b.says("How do you want to sign in?")
	b.look("the first way in")
	b.follow("Make a passkey")
	b.says("In case you lose it")
	b.look("before the codes")
	b.follow("Show me ten codes")
	b.says("Your recovery codes")
	b.look("the codes")
	b.follow("I have saved them")
	b.look("the first agent")
	b.fill("Handle", "scout")
	b.follow("Create the agent")
	b.says("alk_", "This is its key")

	b.visit("/settings")
	b.says("This device", "10 codes are left", "At the set-up")
	b.look("the settings")
	b.follow("Sign out")
	b.look("signing in")
	b.follow("Sign in with a passkey")
	if b.path() != "/" {
		t.Errorf("signing in leads to %s", b.path())
	}
	b.follow("Settings")
	b.says("By passkey", "last used")
	b.follow("Set a password")
	b.look("a password")
	b.fill("New password", nodetest.Password)
	b.fill("The same again", nodetest.Password)
	b.follow("Set the password")
	b.says("The password is set")

	// The same authenticator takes no second key for the same node.
	b.follow("Add a passkey")
	b.look("a further passkey")
	b.press("Make a passkey")
	b.says("This device has a passkey for this node already")
	call(b, webauthn.RemoveVirtualAuthenticator, webauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: first})
	b.authenticator()
	b.fill("A name for it", "Tablet")
	b.follow("Make a passkey")
	b.says("The passkey is added", "Tablet")
	b.follow("Remove This device")
	b.look("the end of a passkey")
	b.follow("Remove it")
	b.lacks("This device")
	b.follow("Sign out")
	b.follow("Sign in with a passkey")
	b.visit("/settings")
	b.says("Tablet", "last used")
}

// The pages of a recovery code, a one-time link and a second sign-in.
func TestOtherWaysIn(t *testing.T) {
	t.Parallel()
	browser(t)
	clock := node.NewFakeClock(node.SystemClock{}.Now())
	n := nodetest.Start(t, nodetest.Options{Clock: clock})
	b := open(t, n.DashboardURL())
	b.authenticator()
	b.visit("/login")
	b.follow("Use a recovery code")
	b.look("a recovery code")
	b.fill("Recovery code", "0000-0000-0000-0000")
	b.follow("Sign in")
	b.says("none of your recovery codes")
	b.look("a wrong recovery code")

	link := n.SignInLink()
	b.visit(link)
	b.look("a one-time link")
	b.follow("Sign in")
	b.visit("/settings/passkey")
	b.follow("Make a passkey")
	clock.Advance(owner.FreshTime)
	b.visit("/settings/codes")
	b.says("Confirm that it is you")
	b.look("confirming")
	b.follow("Confirm with a passkey")
	b.says("Ten new codes")
	b.follow("Show me ten codes")
	b.says("Your recovery codes")

	b.visit(link)
	b.says("used already")
	b.look("a used link")
}

// An authenticator that does not know its user opens nothing.
func TestPasskeyNeedsItsUser(t *testing.T) {
	t.Parallel()
	browser(t)
	n := nodetest.Start(t, nodetest.Options{})
	b := signedIn(t, n)
	id := b.authenticator()
	b.visit("/settings/passkey")
	b.follow("Make a passkey")
	b.says("The passkey is added")
	b.follow("Sign out")
	call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: id, IsUserVerified: false})
	b.press("Sign in with a passkey")
	b.says("It was not done")
	call(b, webauthn.SetUserVerified, webauthn.SetUserVerifiedParams{AuthenticatorID: id, IsUserVerified: true})
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: id, IsBadUV: new(true)})
	b.follow("Sign in with a passkey")
	b.says("The passkey was not accepted")
	b.look("a refused passkey")
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: id, IsBogusSignature: new(true)})
	b.follow("Sign in with a passkey")
	b.says("The passkey was not accepted")
	call(b, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: id})
	b.follow("Sign in with a passkey")
	b.says("This node")
}
