package view

import (
	"strconv"
	"time"
)

// ContactsPage lists contacts. Asking is who asks to connect and waits for the
// owner.
type ContactsPage struct {
	Frame  Frame
	Asking []ContactRow
	Rows   []ContactRow
	Older  string
}

// ContactRow is a contact of one agent.
type ContactRow struct {
	URL, Contact, Agent string
	Meaning             Meaning
	Word                string
	Why                 string
	At                  time.Time
}

// ContactPage is the relation between one of the owner's agents and a contact.
type ContactPage struct {
	Frame              Frame
	ID, Contact, Agent string
	AgentURL           string
	Meaning            Meaning
	Word, Means        string // the status, and what it means
	Since              time.Time
	Note               string // that came, or went, with the request
	NoteIsOurs         bool
	Theirs, Ours       string // fingerprints; Theirs is "" where it is not known
	Invited            bool
	KeyChanged         bool
	OursGone           bool   // KeyChanged since they never accepted a key of ours
	OursWaits          bool   // they go by an earlier key of ours
	OursDeclined       bool   // and do not want the new one
	NewKey             NewKey // that their node announces; zero for none
	Incoming           bool   // it waits for the owner's answer
	ApprovalURL        string // of our agent's request, while the owner decides
	Active             bool
	CanEnd             bool
	Asked              bool // our side asked, and nobody has accepted yet
	StructuredOnly     bool
	GrantsURL          string
	Grants             GrantsEditor // unless Incoming
	Kinds              []KnownKind
	KnowsURL           string
	Tasks              []TaskLine
	TasksURL           string // of all tasks, where there are more
	ThreadURL          string
	Last               []ThreadItem
	Earlier            []ContactRow
}

func (p ContactPage) sinceName() string {
	if p.Meaning == Ended {
		return "Ended"
	}
	return "First asked"
}

// endName is what ending comes to.
func (p ContactPage) endName() string {
	if p.Asked {
		return "Take the request back"
	}
	return "End the connection"
}

// KnownKind is what a contact knows of one kind of detail.
type KnownKind struct {
	URL, Name string
	Told      int
	LastAt    time.Time
}

// TaskLine is a task in a list.
type TaskLine struct {
	URL, Title string
	Meaning    Meaning
	Word       string
	At         time.Time
}

// RevokePage asks once more before a connection ends.
type RevokePage struct {
	Frame              Frame
	ID, Contact, Agent string
	Told               bool // the contact's node gets a notice
	Asked              bool // it is no connection yet, but a request of ours
}

// Choice is an agent that a form offers.
type Choice struct{ ID, Name string }

// InvitePage makes an invitation. Link is there once it is made, and never again.
type InvitePage struct {
	Frame     Frame
	Agents    []Choice
	Agent     string
	Link      string
	QR        QR
	ExpiresAt time.Time
}

// QR is a code as a drawing: Size modules a side, with its quiet zone; Path draws
// the dark ones.
type QR struct {
	Size int
	Path string
}

func (q QR) box() string {
	size := strconv.Itoa(q.Size)
	return "0 0 " + size + " " + size
}

// ConnectPage asks to connect. What was typed stays when it did not do.
type ConnectPage struct {
	Frame               Frame
	Agents              []Choice
	Agent, To, FreeNote string
}

// fours parts a fingerprint into groups of four, which two people can read to
// each other.
func fours(fingerprint string) []string {
	var groups []string
	for len(fingerprint) > 4 {
		groups, fingerprint = append(groups, fingerprint[:4]), fingerprint[4:]
	}
	return append(groups, fingerprint)
}
