package view

import "time"

// SettingsPage is how the owner signs in, where they are signed in, and what the
// node says of itself.
type SettingsPage struct {
	Frame    Frame
	Passkeys []PasskeyRow
	// NoPasskeys says why none can be added at this address; "" where it can.
	NoPasskeys string
	Password   bool
	CodesLeft  int
	CodesAt    time.Time
	Sessions   []SessionRow
	Node       NodeFacts
	BackupAt   time.Time // of the last backup; zero for none
}

// PasskeyRow is one passkey.
type PasskeyRow struct {
	URL, Name  string
	Party      string // the host that it works at
	Here       bool   // it works at this address
	CreatedAt  time.Time
	LastUsedAt time.Time
}

// SessionRow is one browser in which the owner is signed in.
type SessionRow struct {
	URL       string // where it is ended
	Browser   string
	IP        string
	How       string
	Current   bool
	CreatedAt time.Time
	SeenAt    time.Time
}

// NodeFacts is what the node says of itself.
type NodeFacts struct {
	Host, URL, Fingerprint, DataDir, Database, Version string
}

// AddPasskeyPage is the form for another passkey.
type AddPasskeyPage struct {
	Frame   Frame
	Passkey string // what the browser makes it from, as JSON
	Name    string
}

// OtherDevicePage makes a one-time link for another device, and shows it once.
type OtherDevicePage struct {
	Frame     Frame
	URL       string // of the dashboard
	Here      bool   // that address is reached from this machine alone
	Link      string // "" before it is made
	QR        QR
	ExpiresAt time.Time
}

// FormPage is a page of the settings with a form and nothing else.
type FormPage struct {
	Frame Frame
	// Passkey is the one to remove.
	Passkey PasskeyRow
	Left    int  // recovery codes that would end
	Current bool // the password that is replaced is asked for
}
