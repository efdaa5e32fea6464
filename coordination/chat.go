package coordination

import (
	"agentlink/coordination/wire"
	"agentlink/node"
	"agentlink/policy"
)

// SendMessage sends a chat message. Codes: bad_request, not_found; conflict for
// an owner whose connection is not active.
func (s *Service) SendMessage(tx node.Tx, actor node.Actor, connectionID, text string) (Result, error) {
	if !within(text, 1, wire.MaxText) {
		return Result{}, node.BadFields(node.Field{Field: "text", Problem: "must have 1 to 8000 characters"})
	}
	connection, err := s.Connection(tx, actor.AgentID, connectionID)
	if err != nil {
		return Result{}, err
	}
	needs := []string{policy.MessageSend}
	return s.submit(tx, actor, writing{
		connection: connection, typ: wire.Message, content: wire.Chat{Text: text},
		capability: policy.MessageSend, needs: needs, freeText: needs,
	})
}
