package view

import "time"

// ClientsCard lists the programs that act as an agent.
type ClientsCard struct {
	CSRF string
	// Address is what a program is given to connect.
	Address string
	Rows    []ClientRow
}

// ClientRow is one program.
type ClientRow struct {
	URL     string // where it is disconnected
	Program Program
	SinceAt time.Time
	// UsedAt is when it last got a token; it needs one every 15 minutes.
	UsedAt time.Time
}
