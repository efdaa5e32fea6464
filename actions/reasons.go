package actions

// Outcome is what an agent is told of a run.
type Outcome string

// The outcomes. Each asks for one decision of the agent's.
const (
	Done           Outcome = "done"              // carried out and checked
	NeedsReview    Outcome = "needs_review"      // stopped before anything was written; a person decides
	NotSureIfSaved Outcome = "not_sure_if_saved" // it may have been written; a person checks
	DidNotRun      Outcome = "did_not_run"       // this call wrote nothing
	InProgress     Outcome = "running"           // the only one that is not final
)

// Outcomes lists every outcome.
var Outcomes = []Outcome{Done, NeedsReview, NotSureIfSaved, DidNotRun, InProgress}

// Changed says whether something was written.
type Changed string

// The values of recordChanged.
const (
	ChangedYes     Changed = "yes"
	ChangedNo      Changed = "no" // proven
	ChangedUnknown Changed = "unknown"
)

// Proof says what a done rests on.
type Proof string

// The proofs. Anything but ProofNone comes with Done alone.
const (
	ProofNone      Proof = "none"
	ProofSimulated Proof = "simulated" // nothing outside was touched
	ProofLocal     Proof = "local"     // the executor read back what it had written
)

// Reason is why a run has its outcome. The list is closed.
type Reason string

// The reasons.
const (
	InRun           Reason = "running"
	SavedAndChecked Reason = "saved_and_checked"

	// Stopped before anything was written, and a person has to look.
	PersonNeeded       Reason = "person_needed"
	RecordNotConfirmed Reason = "record_not_confirmed"
	UnexpectedScreen   Reason = "unexpected_screen"
	NoRecordCheck      Reason = "record_check_not_set_up"
	StoppedForReview   Reason = "stopped_for_review"

	// Something may have been written.
	SaveNotConfirmed Reason = "save_not_confirmed" // the executor failed and could not say
	NotChecked       Reason = "not_checked"        // it says that it worked, and did not look
	ChangeReversed   Reason = "change_reversed"
	TimedOut         Reason = "timed_out"
	ResultUnreadable Reason = "result_unreadable"
	Interrupted      Reason = "interrupted" // the node stopped while it ran

	// Nothing was written.
	PolicyRefused  Reason = "policy_refused" // the owner's rules changed after the approval
	Canceled       Reason = "canceled"       // what it was for ended before it began
	PlatformError  Reason = "platform_error"
	AppUnreachable Reason = "app_unreachable"
)

// Meaning is everything that follows from a reason.
type Meaning struct {
	Outcome Outcome
	Event   Event // what it does to the run
	Changed Changed
	// SafeToRetry is true only where it is proven that nothing was written.
	SafeToRetry bool
	// Text is fixed: no value of a request ever stands in it.
	Text string
}

// meanings has a row for every reason.
var meanings = map[Reason]Meaning{
	InRun:           {InProgress, "", ChangedUnknown, false, "It is running. Look at it again."},
	SavedAndChecked: {Done, EvSucceed, ChangedYes, false, "It was carried out and checked."},

	PersonNeeded:       {NeedsReview, EvFail, ChangedNo, false, "It stopped before anything was written, because a person is needed."},
	RecordNotConfirmed: {NeedsReview, EvFail, ChangedNo, false, "It stopped before anything was written: it could not tell that it had the right record."},
	UnexpectedScreen:   {NeedsReview, EvFail, ChangedNo, false, "It stopped before anything was written: it met something unexpected."},
	NoRecordCheck:      {NeedsReview, EvFail, ChangedNo, false, "It stopped before anything was written: there is no way to check the result."},
	StoppedForReview:   {NeedsReview, EvFail, ChangedNo, false, "It stopped before anything was written, for a person to look at."},

	SaveNotConfirmed: {NotSureIfSaved, EvLose, ChangedUnknown, false, "It may have been carried out. A person has to check."},
	NotChecked:       {NotSureIfSaved, EvLose, ChangedUnknown, false, "It finished and nobody checked. A person has to check."},
	ChangeReversed:   {NotSureIfSaved, EvLose, ChangedUnknown, false, "It was carried out and undone again. A person has to check."},
	TimedOut:         {NotSureIfSaved, EvLose, ChangedUnknown, false, "It took too long and may still have been carried out. A person has to check."},
	ResultUnreadable: {NotSureIfSaved, EvLose, ChangedUnknown, false, "Its result could not be read. A person has to check."},
	Interrupted:      {NotSureIfSaved, EvLose, ChangedUnknown, false, "The node stopped while it ran. A person has to check."},

	PolicyRefused:  {DidNotRun, EvFail, ChangedNo, true, "It did not run: the owner's rules no longer allow it."},
	Canceled:       {DidNotRun, EvFail, ChangedNo, true, "It did not run: what it was for had ended."},
	PlatformError:  {DidNotRun, EvFail, ChangedNo, true, "It did not run: it could not be started."},
	AppUnreachable: {DidNotRun, EvFail, ChangedNo, true, "It did not run: the service that it needs could not be reached."},
}

// MeaningOf gives the row of a reason; one that is not known is unreadable.
func MeaningOf(reason Reason) Meaning {
	if meaning, ok := meanings[reason]; ok {
		return meaning
	}
	return meanings[ResultUnreadable]
}
