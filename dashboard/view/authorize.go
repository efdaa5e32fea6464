package view

// AuthorizePage asks whether a program may act as one of the owner's agents.
type AuthorizePage struct {
	Problem string
	CSRF    string
	Action  string // where the answer is sent
	Refuse  string
	Program Program
	Agents  []AgentChoice
}

// Program is what a stranger's program says of itself, and what is known of it.
type Program struct {
	Name string // chosen by itself
	// Known is the host that vouches for it by a document; "" where it registered
	// by itself.
	Known string
	Place Place
	// Before says that the owner has approved it once.
	Before bool
}

// Place is where the owner's browser goes with the answer.
type Place struct {
	Host   string
	Scheme string // of a program's own, "" for a host
	Here   bool   // the machine of the browser
}

// AgentChoice is an agent that the program may act as.
type AgentChoice struct {
	ID, Handle, Name string
	Mode, Means      string
	Tools            string // in plain words; "" for none
	Chosen           bool
}

// GoPage leads the browser to a program that waits for an answer.
type GoPage struct {
	Title, Text string
	Program     Program
	URL         string // "" leads nowhere
}
