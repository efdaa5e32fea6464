package approvals

// Event is what can happen to an approval.
type Event string

// The events.
const (
	EvApprove Event = "approve" // the owner says yes
	EvReject  Event = "reject"  // the owner says no
	EvExpire  Event = "expire"  // its time is over, or what it was for has ended
	EvUse     Event = "use"     // the approved action is about to run
)

// Events lists every event.
var Events = []Event{EvApprove, EvReject, EvExpire, EvUse}

// transition is one arrow of an approval's life.
type transition struct {
	Kind  Kind
	From  Status
	Event Event
	To    Status
}

// transitions is the whole machine; what is not here does not happen. A held
// message and a request to connect are used up by the decision itself.
var transitions = []transition{
	{Message, Pending, EvApprove, Consumed},
	{Message, Pending, EvReject, Rejected},
	{Message, Pending, EvExpire, Expired},

	{Connection, Pending, EvApprove, Consumed},
	{Connection, Pending, EvReject, Rejected},
	{Connection, Pending, EvExpire, Expired},

	{Action, Pending, EvApprove, Approved},
	{Action, Pending, EvReject, Rejected},
	{Action, Pending, EvExpire, Expired},
	{Action, Approved, EvUse, Consumed},
	{Action, Approved, EvExpire, Expired},
}

// Next gives the status after an event; ok is false where there is no arrow.
func Next(kind Kind, from Status, event Event) (to Status, ok bool) {
	for _, t := range transitions {
		if t.Kind == kind && t.From == from && t.Event == event {
			return t.To, true
		}
	}
	return from, false
}

// Open says whether something can still come of an approval with this status.
func (s Status) Open() bool { return s == Pending || s == Approved }
