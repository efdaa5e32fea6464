package dashboard

import (
	"agentlink/coordination/wire"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// codeWords say why a message was rejected or failed, in the owner's words.
var codeWords = map[string]string{
	wire.CodeVersionConflict:   "both sides proposed at once, and the other proposal counts",
	wire.CodeStaleAcceptance:   "a newer proposal had arrived before it",
	wire.CodeStaleVersion:      "the task had moved on to another version",
	wire.CodeNotLatest:         "another proposal was the latest by then",
	wire.CodeAlreadyResponded:  "the proposal had an answer already",
	wire.CodeDigestMismatch:    "it did not name exactly what was proposed",
	wire.CodeBadState:          "the task did not allow it any more",
	wire.CodeTaskEnded:         "the task had ended",
	wire.CodeAlreadyConfirmed:  "the task was confirmed already",
	wire.CodeCancelled:         "the task was cancelled meanwhile",
	wire.CodeDoubleRun:         "both sides carried the action out",
	wire.CodeUIDTaken:          "the other side has another task under this name",
	wire.CodeUnknownTask:       "the other side does not know the task",
	wire.CodeUnknownType:       "the other side does not know this kind of message",
	wire.CodeBadContent:        "it did not have the form that the protocol asks for",
	wire.CodeBadDeadline:       "the deadline is too far away, or has passed",
	wire.CodeGap:               "an earlier message is missing",
	wire.CodeSeqReused:         "its number was used for another message",
	wire.CodeAlreadyProcessed:  "it had been taken in before it could be withdrawn",
	wire.CodeVoided:            "it was withdrawn",
	wire.CodeForged:            "its sealed part does not belong to it",
	wire.CodeOtherVersion:      "it has another version of the protocol than both sides share",
	wire.CodeNotConnected:      "the connection was not active",
	wire.CodeConnectionUnknown: "the other side knows of no such connection",
	wire.CodeTooLate:           "its time was over before it arrived",
	wire.CodeUnavailable:       "the other node could not look at it",
	wire.CodeRestored:          "the other side remembers more than this node: a copy was restored",
	wire.CodeKeyRetired:        "it was signed with a key that another one has replaced",
	wire.CodeKeyRefused:        "the owner over there does not accept the new key",
	wire.CodeBadKey:            "the key that it announces cannot take the place of the known one",
	wire.CodeOutOfStep:         "the two copies of the task no longer follow one another",

	string(node.PolicyDenied):           "a grant denies it by now",
	string(policy.AgentDisabled):        "the agent is disabled",
	string(node.ReasonApprovalRejected): "you rejected it",
	string(node.ReasonApprovalExpired):  "you did not decide in time",
	string(node.ReasonHashMismatch):     "it was not what had been approved any more",
	"key_changed":                       "the other node answered with another key",
	"other":                             "the other side gave a reason that this node does not know",
}

// why says in words why a message has its code.
func why(code string) string {
	if words, known := codeWords[code]; known || code == "" {
		return words
	}
	return view.Words(code)
}
