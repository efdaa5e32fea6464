package simulation

// stage is when a fault is planted.
type stage bool

const (
	beneath stage = false // before the services are made
	between stage = true  // when they are, before what uses them is
)

// fault is something that is wrong with a node on purpose.
type fault struct {
	name   string
	finder string // the invariant that found it
	// seed is the first, in the order of nth, that found it. It is tried first; where
	// it no longer finds the fault, all are.
	seed             uint64
	beneath, between func(s *side, at *seams)
}

func (f *fault) plant(s *side, at *seams, when stage) {
	switch {
	case f == nil:
	case when == beneath && f.beneath != nil:
		f.beneath(s, at)
	case when == between && f.between != nil:
		f.between(s, at)
	}
}
