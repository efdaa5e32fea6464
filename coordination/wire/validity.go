package wire

import (
	"net/url"
	"time"

	"agentlink/node"
)

// Limits of size.
const (
	// MaxEnvelope is the size in bytes of what is posted to an inbox, a compact JWS.
	MaxEnvelope = 64 << 10
	// MaxContent is the size in bytes of a content (JSON) that fits into an
	// envelope with the longest addresses. Base64url around the sealed part and
	// around the claims takes the rest.
	MaxContent = 34_000
)

// MaxDeadline is how far away the deadline of a task may be (D12).
const MaxDeadline = 720 * time.Hour

// Life is how long an envelope of this type is worth applying at most. A type
// that this node does not know lives as long as a notice.
func (t Type) Life() time.Duration {
	switch {
	case t == Message:
		return ChatLife
	case t == TaskConfirm, t == TaskVoid:
		return MaxDeadline + ConfirmLife
	case t.ForTask():
		return MaxDeadline
	}
	return NoticeLife
}

// Valid says whether the claims have the shape that the protocol gives them. It
// tells nothing about who wrote them, or when.
func (e Envelope) Valid() bool {
	return e.V >= 1 && validAddress(e.Iss) && validAddress(e.Aud) && e.Iss != e.Aud &&
		node.ValidID(e.JTI) && e.Iat > 0 && e.Exp > e.Iat && e.Type != "" && e.numbered() && e.Body != ""
}

// numbered says whether task, seq and ack stand where they belong. Types of
// later versions may belong to a task or not.
func (e Envelope) numbered() bool {
	switch {
	case e.Task != "":
		return node.ValidID(e.Task) && e.Seq >= 1 && e.Ack >= 0 && e.Type != Message && !e.Type.Notice() && !e.Type.ForKey()
	default:
		return e.Seq == 0 && e.Ack == 0 && !e.Type.ForTask()
	}
}

func validAddress(text string) bool {
	_, err := node.ParseAddress(text) // which takes the one spelling only
	return err == nil
}

// Timeliness is how an envelope's times stand to a receiver's clock.
type Timeliness int

// The kinds of Timeliness.
const (
	Timely  Timeliness = iota
	TooNew             // its author's clock is more than MaxSkew ahead
	TooLong            // it claims to live longer than its type may
	TooLate            // it is no longer worth applying
)

// Timeliness compares the claims' times with now. Whether a task message ends
// with its task's deadline is for the copy to say.
func (e Envelope) Timeliness(now time.Time) Timeliness {
	iat, exp := time.Unix(e.Iat, 0), time.Unix(e.Exp, 0)
	switch {
	case iat.After(now.Add(MaxSkew)):
		return TooNew
	case exp.After(now.Add(e.Type.Life() + MaxSkew)):
		return TooLong
	case !now.Before(exp):
		return TooLate
	}
	return Timely
}

// Where a node is spoken to.
const (
	CardPath  = "/.well-known/agentlink"
	InboxPath = "/agentlink/v1/inbox"
)

// InboxOn says whether a URL can be the inbox of a node whose agents' addresses
// have this host: on the very same host and port, http or https, without user,
// query or fragment. A node speaks for no other host, so that nobody can have
// envelopes posted to a third one.
func InboxOn(inbox, host string) bool {
	u, err := url.Parse(inbox)
	if err != nil || host == "" || u.Host != host || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	plain := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return plain.String() == inbox
}
