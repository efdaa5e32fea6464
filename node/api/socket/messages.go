package socket

import (
	"context"
	"time"

	"agentlink/coordination"
	"agentlink/coordination/wire"
	"agentlink/node"
)

// Message is a chat message as its owner sees it.
type Message struct {
	ID           string                     `json:"id"`
	Agent        string                     `json:"agent"` // handle
	ConnectionID string                     `json:"connectionId"`
	Contact      string                     `json:"contact"`
	Direction    coordination.Direction     `json:"direction"`
	Author       string                     `json:"author"` // "agent" or "owner"
	Status       coordination.MessageStatus `json:"status"`
	Code         string                     `json:"code,omitempty"`
	Text         string                     `json:"text"`
	CreatedAt    time.Time                  `json:"createdAt"`
}

// The commands about messages.
const (
	MessageList = "message.list" // ListMessages → []Message
	MessageSend = "message.send" // SendMessage → Sent
)

// ListMessages narrows a list of messages.
type ListMessages struct {
	Agent      string `json:"agent,omitempty"`
	Connection string `json:"connection,omitempty"` // id, full or shortened
	Limit      int    `json:"limit,omitempty"`
}

// SendMessage is a message of the owner's own. It is sent straight away.
type SendMessage struct {
	Connection string `json:"connection"` // id, full or shortened
	Text       string `json:"text"`
}

func (s *Server) messageCommands() {
	reads(s, MessageList, s.listMessages)
	acts(s, MessageSend, s.sendMessage)
}

func (s *Server) sendMessage(ctx context.Context, r SendMessage) (Sent, error) {
	return s.send(ctx, func(tx node.Tx) (coordination.Result, error) {
		actor, err := s.actor(ctx, tx)
		if err != nil {
			return coordination.Result{}, err
		}
		connection, err := s.connection(tx, r.Connection)
		if err != nil {
			return coordination.Result{}, err
		}
		actor.AgentID = connection.AgentID
		return s.Coordination.SendMessage(tx, actor, connection.ID, r.Text)
	})
}

func (s *Server) listMessages(tx node.Tx, r ListMessages) ([]Message, error) {
	agentID, err := s.filter(tx, r.Agent)
	if err != nil {
		return nil, err
	}
	connectionID := ""
	if r.Connection != "" {
		connection, err := s.connection(tx, r.Connection)
		if err != nil {
			return nil, err
		}
		connectionID = connection.ID
	}
	messages, err := s.Coordination.Messages(tx, agentID, connectionID, coordination.Page{Limit: limit(r.Limit)})
	if err != nil {
		return nil, err
	}
	return s.messageViews(tx, messages)
}

func (s *Server) messageViews(tx node.Tx, messages []coordination.Message) ([]Message, error) {
	names, err := s.agentNames(tx)
	if err != nil {
		return nil, err
	}
	contacts := map[string]string{} // by connection
	views := make([]Message, len(messages))
	for i, message := range messages {
		if _, known := contacts[message.ConnectionID]; !known {
			connection, err := s.Coordination.Connection(tx, "", message.ConnectionID)
			if err != nil {
				return nil, err
			}
			contacts[message.ConnectionID] = connection.Contact
		}
		views[i], err = messageOf(message, names[message.AgentID], contacts[message.ConnectionID])
		if err != nil {
			return nil, err
		}
	}
	return views, nil
}

func messageOf(m coordination.Message, agent, contact string) (Message, error) {
	var chat wire.Chat
	if err := node.Decode(m.Content, &chat); err != nil {
		return Message{}, err
	}
	return Message{
		ID: m.ID, Agent: agent, ConnectionID: m.ConnectionID, Contact: contact, Direction: m.Direction,
		Author: m.Author, Status: m.Status, Code: m.Code, Text: chat.Text, CreatedAt: m.CreatedAt,
	}, nil
}
