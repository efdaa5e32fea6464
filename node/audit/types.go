package audit

// Types lists every type, in groups by their first part.
var Types = []Type{
	PolicyDecided,

	ApprovalRequested, ApprovalApproved, ApprovalRejected, ApprovalExpired, ApprovalConsumed,
	ActionHeld, ActionReserved, ActionExecuted, ActionFailed, ActionUnknown,
	MessageQueued, MessageHeld, MessageDelivered, MessageReceived, MessageRejected, MessageFailed,
	TaskStarted, TaskProposed, TaskResponded, TaskAgreed, TaskConfirmed, TaskCancelled, TaskExpired, TaskVoided, TaskMessageRejected,
	TaskDisagreement, TaskOutOfStep, TaskConfirmFailed,
	ConnectionRequested, ConnectionLookedUp, ConnectionReceived, ConnectionAccepted, ConnectionActive, ConnectionRejected, ConnectionRevoked,
	ConnectionKeyChanged, ConnectionLogDiffers, ConnectionSettings,
	ConnectionKeyOffered, ConnectionKeyDisputed, ConnectionKeyAccepted, ConnectionKeyRefused, ConnectionKeyKnown, ConnectionKeyDeclined,
	InvitationCreated, InvitationUsed,
	AgentCreated, AgentModeChanged, AgentStatusChanged, AgentToolsChanged, AgentKeyChanged,
	GrantSet, GrantRemoved,
	OverlaySet, OverlayRemoved,
	ClientRegistered, ClientAuthorized, ClientRefused, ClientRevoked, ClientReused,
	OwnerCreated, OwnerPasswordSet, OwnerAuthFailed, OwnerSessionOpened, OwnerSessionEnded, OwnerConfirmed, OwnerPasskeyAdded,
	OwnerPasskeyRemoved, OwnerRecoveryCodesMade, OwnerRecoveryCodeUsed, OwnerLinkMade, OwnerLinkUsed,
	KeyRotated, KeyErased,
	NodeStarted, NodeBackedUp, NodeRestored, NodeMasterReplaced,
	Exported, Compared,
}
