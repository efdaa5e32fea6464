package node

// Reason narrows a Conflict. It is shown as details.reason. The list is closed.
type Reason string

// The reasons of a Conflict.
const (
	ReasonStaleVersion           Reason = "stale_version"            // another version came first
	ReasonNotLatest              Reason = "not_latest"               // only the latest pending proposal can be answered
	ReasonAlreadyResponded       Reason = "already_responded"        // a recorded response cannot be changed
	ReasonTaskEnded              Reason = "task_ended"               // confirmed, cancelled, expired, or past the deadline
	ReasonBadState               Reason = "bad_state"                // this object's status does not allow it
	ReasonHashMismatch           Reason = "hash_mismatch"            // the parameters are not those of the approval
	ReasonApprovalPending        Reason = "approval_pending"         // the owner has not decided yet
	ReasonApprovalRejected       Reason = "approval_rejected"        // the owner said no
	ReasonApprovalExpired        Reason = "approval_expired"         // nobody decided, or used it, in time
	ReasonApprovalUsed           Reason = "approval_used"            // an approval works once
	ReasonAlreadyRan             Reason = "already_ran"              // the action of this task has already run
	ReasonAcceptanceNotDelivered Reason = "acceptance_not_delivered" // the other side does not know yet that it is agreed
	ReasonInDoubt                Reason = "in_doubt"                 // it is not yet known whether the last message arrived
	ReasonOutOfStep              Reason = "out_of_step"              // the two copies no longer follow one another
	ReasonIdempotencyReuse       Reason = "idempotency_reuse"        // the key was used with another request
)

// Reasons lists every reason of a Conflict.
var Reasons = []Reason{
	ReasonStaleVersion, ReasonNotLatest, ReasonAlreadyResponded, ReasonTaskEnded, ReasonBadState,
	ReasonHashMismatch, ReasonApprovalPending, ReasonApprovalRejected, ReasonApprovalExpired,
	ReasonApprovalUsed, ReasonAlreadyRan, ReasonAcceptanceNotDelivered, ReasonInDoubt,
	ReasonOutOfStep, ReasonIdempotencyReuse,
}
