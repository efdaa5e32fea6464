package actions

// State is where a run stands.
type State string

// The states of a run.
const (
	Reserved  State = "reserved" // approval consumed and request claimed, committed
	Running   State = "running"  // the executor may have begun
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Unknown   State = "unknown" // it began, and nobody knows how it ended
)

// States lists every state of a run.
var States = []State{Reserved, Running, Succeeded, Failed, Unknown}

// Final says whether a run in this state has ended.
func (s State) Final() bool { return s == Succeeded || s == Failed || s == Unknown }

// Event is what can happen to a run.
type Event string

// The events.
const (
	EvBegin   Event = "begin"   // the executor is about to be called
	EvSucceed Event = "succeed" // carried out and checked
	EvFail    Event = "fail"    // it is proven that nothing was written
	EvLose    Event = "lose"    // nobody knows
)

// Events lists every event.
var Events = []Event{EvBegin, EvSucceed, EvFail, EvLose}

// transitions is the whole machine; what is not here does not happen. A run that
// a crash cut off never goes back: an executor that is idempotent by key is
// called again while the run stays running.
var transitions = []struct {
	From  State
	Event Event
	To    State
}{
	{Reserved, EvBegin, Running},
	{Reserved, EvFail, Failed},
	{Running, EvSucceed, Succeeded},
	{Running, EvFail, Failed},
	{Running, EvLose, Unknown},
}

// Next gives the state after an event; ok is false where there is no arrow.
func Next(from State, event Event) (to State, ok bool) {
	for _, t := range transitions {
		if t.From == from && t.Event == event {
			return t.To, true
		}
	}
	return from, false
}
