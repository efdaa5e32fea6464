package audit

// Type names what happened. Agents see those that Feed names; the owner sees
// all of them.
type Type string

// The types of event.
const (
	NodeStarted      Type = "node.started"
	OwnerCreated     Type = "owner.created"
	OwnerPasswordSet Type = "owner.password_set"
	OwnerAuthFailed  Type = "owner.auth_failed"

	OwnerSessionOpened     Type = "owner.session_opened"
	OwnerSessionEnded      Type = "owner.session_ended"
	OwnerConfirmed         Type = "owner.confirmed" // signed in again within a session
	OwnerPasskeyAdded      Type = "owner.passkey_added"
	OwnerPasskeyRemoved    Type = "owner.passkey_removed"
	OwnerRecoveryCodesMade Type = "owner.recovery_codes_made"
	OwnerRecoveryCodeUsed  Type = "owner.recovery_code_used"
	OwnerLinkMade          Type = "owner.link_made"
	OwnerLinkUsed          Type = "owner.link_used"

	AgentCreated       Type = "agent.created"
	AgentModeChanged   Type = "agent.mode_changed"
	AgentStatusChanged Type = "agent.status_changed"
	AgentToolsChanged  Type = "agent.tools_changed"
	AgentKeyChanged    Type = "agent.key_changed"
	GrantSet           Type = "grant.set"
	GrantRemoved       Type = "grant.removed"
	OverlaySet         Type = "overlay.set" // the owner's own rules
	OverlayRemoved     Type = "overlay.removed"

	// Programs of others that act as an agent over MCP.
	ClientRegistered Type = "client.registered" // by itself; it opens nothing
	ClientAuthorized Type = "client.authorized" // by the owner, for one agent
	ClientRefused    Type = "client.refused"    // by the owner
	ClientRevoked    Type = "client.revoked"
	ClientReused     Type = "client.reuse_detected" // a code or token came twice; its authorization has ended

	PolicyDecided Type = "policy.decided"

	ConnectionRequested  Type = "connection.requested" // asked for by us
	ConnectionLookedUp   Type = "connection.looked_up" // a card was fetched from a host
	ConnectionReceived   Type = "connection.received"  // a request came in
	ConnectionAccepted   Type = "connection.accepted"  // by our owner
	ConnectionActive     Type = "connection.active"    // both owners agreed
	ConnectionRejected   Type = "connection.rejected"
	ConnectionRevoked    Type = "connection.revoked"
	ConnectionKeyChanged Type = "connection.key_changed"
	ConnectionSettings   Type = "connection.settings"
	InvitationCreated    Type = "invitation.created"
	InvitationUsed       Type = "invitation.used"

	// A contact's node announces a new key, and our owner decides.
	ConnectionKeyOffered  Type = "connection.key_offered"
	ConnectionKeyDisputed Type = "connection.key_disputed" // two that contradict each other
	ConnectionKeyAccepted Type = "connection.key_accepted"
	ConnectionKeyRefused  Type = "connection.key_refused"
	// Ours was replaced, and the contact's owner has decided.
	ConnectionKeyKnown    Type = "connection.key_known"
	ConnectionKeyDeclined Type = "connection.key_declined"
	KeyRotated            Type = "key.rotated"
	KeyErased             Type = "key.erased" // an earlier one of ours, that nobody goes by any more

	// ConnectionLogDiffers: the peer's log does not go on from the one whose head it
	// handed us before.
	ConnectionLogDiffers Type = "connection.log_differs"

	MessageQueued    Type = "message.queued"
	MessageHeld      Type = "message.held"
	MessageDelivered Type = "message.delivered"
	MessageReceived  Type = "message.received"
	MessageRejected  Type = "message.rejected" // by the peer, or by our owner
	MessageFailed    Type = "message.failed"

	TaskStarted         Type = "task.started"
	TaskProposed        Type = "task.proposed"
	TaskResponded       Type = "task.responded"
	TaskAgreed          Type = "task.agreed"
	TaskConfirmed       Type = "task.confirmed"
	TaskCancelled       Type = "task.cancelled"
	TaskExpired         Type = "task.expired"
	TaskVoided          Type = "task.message_voided"
	TaskMessageRejected Type = "task.message_rejected"
	TaskDisagreement    Type = "task.disagreement"
	TaskOutOfStep       Type = "task.out_of_step"
	TaskConfirmFailed   Type = "task.confirm_failed"

	ApprovalRequested Type = "approval.requested"
	ApprovalApproved  Type = "approval.approved"
	ApprovalRejected  Type = "approval.rejected"
	ApprovalExpired   Type = "approval.expired"
	ApprovalConsumed  Type = "approval.consumed"

	ActionHeld     Type = "action.held" // the rules allow it, the task does not: the owner has to approve it
	ActionReserved Type = "action.reserved"
	ActionExecuted Type = "action.executed"
	ActionFailed   Type = "action.failed"
	ActionUnknown  Type = "action.unknown"
)

// Feed lists the types that an agent sees of what concerns it.
var Feed = []Type{
	AgentModeChanged, AgentStatusChanged, GrantSet, GrantRemoved,
	ConnectionRequested, ConnectionReceived, ConnectionAccepted, ConnectionActive, ConnectionRejected, ConnectionRevoked, ConnectionKeyChanged,
	ConnectionKeyOffered, ConnectionKeyAccepted, ConnectionKeyRefused,
	MessageQueued, MessageHeld, MessageDelivered, MessageReceived, MessageRejected, MessageFailed,
	TaskStarted, TaskProposed, TaskResponded, TaskAgreed, TaskConfirmed, TaskCancelled, TaskExpired, TaskVoided, TaskMessageRejected,
	TaskDisagreement, TaskOutOfStep, TaskConfirmFailed,
	ApprovalRequested, ApprovalApproved, ApprovalRejected, ApprovalExpired, ApprovalConsumed,
	ActionHeld, ActionReserved, ActionExecuted, ActionFailed, ActionUnknown,
}
