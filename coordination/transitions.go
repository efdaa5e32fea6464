package coordination

// event is what can happen to a task.
type event string

// The events.
const (
	evProposed  event = "proposed"  // a proposal, first or next
	evRejected  event = "rejected"  // the latest proposal was rejected
	evAgreed    event = "agreed"    // the latest proposal was accepted by both
	evAsked     event = "asked"     // our agent asked the owner to approve the action
	evReopened  event = "reopened"  // the acceptance that made it agreed is void
	evConfirmed event = "confirmed" // the action ran, here or there
	evCorrected event = "corrected" // D5: it had run before the deadline
	evCancelled event = "cancelled"
	evExpired   event = "expired"
)

// events lists every event.
var events = []event{evProposed, evRejected, evAgreed, evAsked, evReopened, evConfirmed, evCorrected, evCancelled, evExpired}

// transition is one arrow of the state diagram.
type transition struct {
	From  Status
	Event event
	To    Status
}

// transitions is the whole machine; what is not here does not happen.
var transitions = []transition{
	{Open, evProposed, Negotiating},
	{Negotiating, evProposed, Negotiating},
	{Negotiating, evRejected, Negotiating},
	{Negotiating, evAgreed, Agreed},
	{Agreed, evAsked, AwaitingApproval},
	{AwaitingApproval, evAsked, AwaitingApproval},
	{Agreed, evReopened, Negotiating},
	{AwaitingApproval, evReopened, Negotiating},
	{Agreed, evConfirmed, Confirmed},
	{AwaitingApproval, evConfirmed, Confirmed},
	{ExpiredTask, evCorrected, Confirmed},
	{Open, evCancelled, CancelledTask},
	{Negotiating, evCancelled, CancelledTask},
	{Agreed, evCancelled, CancelledTask},
	{AwaitingApproval, evCancelled, CancelledTask},
	{Open, evExpired, ExpiredTask},
	{Negotiating, evExpired, ExpiredTask},
	{Agreed, evExpired, ExpiredTask},
	{AwaitingApproval, evExpired, ExpiredTask},
}

// next gives the status after an event; ok is false where there is no arrow.
func next(from Status, e event) (to Status, ok bool) {
	for _, t := range transitions {
		if t.From == from && t.Event == e {
			return t.To, true
		}
	}
	return from, false
}
