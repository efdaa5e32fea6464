package wire

import "agentlink/node"

// Head is the head of a node's audit log as it is handed to a peer, who keeps it
// so that a log which was replaced can be found by comparing.
type Head struct {
	// N is the number of this answer among those on this connection. It grows with
	// each, and by more than one where something else has happened to it.
	N int64 `json:"n"`
	// Seal is the head itself, sealed by its node for itself: base64url.
	Seal string `json:"seal"`
}

// maxSeal is how long a sealed head is at most, in characters.
const maxSeal = 512

// Valid says whether it is worth keeping.
func (h Head) Valid() bool { return h.N >= 1 && h.Seal != "" && len(h.Seal) <= maxSeal }

// HeadHeader is the HTTP header by which a sender says that it reads a Head in
// the answer. Claims are read strictly, so a node that does not know the member
// would take no answer that has it; a header that it does not know harms nobody.
const (
	HeadHeader = "Agentlink-Head"
	HeadWanted = "1"
)

// WitnessPath is where a peer is asked for the heads of ours that it has kept.
const WitnessPath = "/agentlink/v1/witness"

// MaxWitness is the size in bytes of what is posted there.
const MaxWitness = 4 << 10

// MaxHeads is how many heads an answer has at most.
const MaxHeads = 64

// WitnessRequest is the claims of the question, kind token.WitnessRequest.
type WitnessRequest struct {
	V   int    `json:"v"`
	Iss string `json:"iss"` // our agent's address
	Aud string `json:"aud"` // its contact
	JTI string `json:"jti"`
	Iat int64  `json:"iat"`
	Exp int64  `json:"exp"`
}

// Valid says whether the claims have the shape that they should.
func (r WitnessRequest) Valid() bool {
	return r.V >= 1 && validAddress(r.Iss) && validAddress(r.Aud) && r.Iss != r.Aud && node.ValidID(r.JTI) && r.Iat > 0 && r.Exp > r.Iat
}

// WitnessAnswer is the claims of the answer, kind token.WitnessAnswer.
type WitnessAnswer struct {
	Iss   string     `json:"iss"` // the request's aud
	Aud   string     `json:"aud"`
	Ref   string     `json:"ref"` // the request's jti
	Heads []HeldHead `json:"heads"`
	Iat   int64      `json:"iat"`
}

// HeldHead is a head that was kept.
type HeldHead struct {
	Head
	At int64 `json:"at"` // when it came, seconds since 1970
}
