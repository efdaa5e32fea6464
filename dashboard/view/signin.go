package view

import "net/url"

// SignInPage is where the owner signs in, or confirms that it is them.
type SignInPage struct {
	Problem string // what went wrong, "" for nothing
	Next    string // where to go afterwards
	// Passkey is what the browser asks an authenticator for, as JSON; "" where
	// there is no passkey for this address.
	Passkey  string
	Password bool // the owner has one
	// CSRF is set where somebody is signed in and is to confirm it.
	CSRF string
}

// LinkPage is what a one-time link shows before it is used.
type LinkPage struct {
	Problem string
	Action  string // where the button sends
}

func nextQuery(next string) string {
	if next == "" || next == "/" {
		return ""
	}
	return "?next=" + url.QueryEscape(next)
}
