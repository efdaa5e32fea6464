package agent

import (
	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/node/api"
	"agentlink/node/api/schema"
	"agentlink/node/audit"
	"agentlink/policy"
)

// newSchemas names the rules that values of requests and answers follow. The
// limits are the domain's own.
func newSchemas() *schema.Set {
	set := schema.NewSet(map[string]schema.Rule{
		"id":      {"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"},
		"address": {"minLength": 3, "maxLength": 320},
		"link":    {"minLength": 1, "maxLength": 2048},
		"text":    {"minLength": 1, "maxLength": wire.MaxText},
		"title":   {"minLength": 1, "maxLength": wire.MaxTitle},
		"note":    {"maxLength": wire.MaxNote},
		"reason":  {"maxLength": wire.MaxReason},
		"type":    {"enum": words(coordination.TypeNames())},
		"hours":   {"minimum": coordination.MinHours, "maximum": coordination.MaxHours, "default": coordination.DefaultHours},
		"object":  {"type": "object"},
		"version": {"minimum": 1, "maximum": 1 << 31},
		"digest":  {"pattern": "^[0-9a-f]{64}$"},
		"hash":    {"pattern": "^[0-9a-f]{64}$"},
		"answer":  {"enum": words([]string{wire.Accept, wire.Reject})},
		"action":  {"minLength": 1, "maxLength": policy.MaxCapability},
		"start":   {"enum": words([]approvals.OnApproval{approvals.Wait, approvals.Run}), "default": string(approvals.Wait)},
		"limit":   {"minimum": 1, "maximum": maxLimit, "default": defaultLimit},
		"cursor":  {"minLength": 1, "maxLength": 512},
		"wait":    {"minimum": 0, "maximum": int(api.MaxWait.Seconds())},
		"sent":    {"enum": words([]string{coordination.StatusQueued, coordination.StatusPendingApproval, coordination.StatusPendingOwner})},
		"author":  {"enum": words([]string{string(node.ActorAgent), string(node.ActorOwner)})},
	})
	set.Describe(api.Time{}, schema.Rule{"type": "string", "format": "date-time"})
	schema.Enum(set, policy.Modes...)
	schema.Enum(set, policy.Statuses...)
	schema.Enum(set, policy.Outcomes...)
	schema.Enum(set, coordination.ConnectionStatuses...)
	schema.Enum(set, coordination.MessageStatuses...)
	schema.Enum(set, coordination.TaskStatuses...)
	schema.Enum(set, coordination.Out, coordination.In)
	schema.Enum(set, coordination.Initiator, coordination.Responder)
	schema.Enum(set, coordination.ProposalPending, coordination.ProposalAccepted, coordination.ProposalRejected, coordination.ProposalSuperseded, coordination.ProposalVoid)
	schema.Enum(set, coordination.ConfirmedVsEnded, coordination.DoubleRun)
	schema.Enum(set, approvals.Kinds...)
	schema.Enum(set, approvals.Statuses...)
	schema.Enum(set, approvals.Wait, approvals.Run)
	schema.Enum(set, actions.Outcomes...)
	schema.Enum(set, actions.ChangedYes, actions.ChangedNo, actions.ChangedUnknown)
	schema.Enum(set, actions.ProofNone, actions.ProofSimulated, actions.ProofLocal)
	schema.Enum(set, audit.Feed...)
	schema.Enum(set, node.Codes...)
	return set
}

func words[T ~string](values []T) []any {
	list := make([]any, 0, len(values))
	for _, value := range values {
		list = append(list, string(value))
	}
	return list
}
