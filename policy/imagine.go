package policy

import "agentlink/node"

// Imaginer makes rules that are not in force; engine.Engine implements it.
type Imaginer interface {
	// Imagine gives the agent's rules as they are in this transaction, changed. The
	// zero Change gives them as they are. Code: not_found.
	Imagine(tx node.Tx, agentID string, change Change) (Imagined, error)
	// CheckOverlay gives the version that a text of the owner's own rules would have,
	// or what is wrong with it.
	CheckOverlay(source string) (version string, problems []Problem)
}

// Imagined answers under rules at one moment. Nothing is recorded. It lasts no
// longer than the transaction that it was made in.
type Imagined interface {
	// Capabilities is Decider.Capabilities under these rules.
	Capabilities(request Request, names []string) []Answer
	// Decide is what Decider.Decide would answer, in the order of
	// Request.Capabilities.
	Decide(request Request) []Answer
}
