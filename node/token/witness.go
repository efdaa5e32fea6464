package token

// The question for the heads of an audit log that a peer keeps, and its answer.
const (
	WitnessRequest Kind = "agentlink-witness-request+jwt"
	WitnessAnswer  Kind = "agentlink-witness-answer+jwt"
)
