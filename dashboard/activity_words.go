package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// happenedWords say what an event is where its name does not say it well.
var happenedWords = map[audit.Type]string{
	audit.PolicyDecided:          "The rules decided",
	audit.MessageQueued:          "A message may leave",
	audit.MessageHeld:            "A message waits for you",
	audit.MessageDelivered:       "A message was delivered",
	audit.MessageReceived:        "A message came in",
	audit.MessageRejected:        "A message was rejected",
	audit.MessageFailed:          "A message was not sent",
	audit.TaskStarted:            "A task was started",
	audit.TaskProposed:           "A proposal was made",
	audit.TaskResponded:          "A proposal was answered",
	audit.TaskAgreed:             "Both sides agreed",
	audit.TaskConfirmed:          "A task was confirmed",
	audit.TaskCancelled:          "A task was cancelled",
	audit.TaskExpired:            "A task ran out of time",
	audit.TaskVoided:             "A message of a task no longer counts",
	audit.TaskMessageRejected:    "A message of the other side was rejected",
	audit.TaskDisagreement:       "The two sides disagree on how a task ended",
	audit.TaskOutOfStep:          "The copies of a task no longer follow one another",
	audit.TaskConfirmFailed:      "A confirmation could not be sent",
	audit.ApprovalRequested:      "You were asked",
	audit.ApprovalApproved:       "You approved",
	audit.ApprovalRejected:       "You rejected",
	audit.ApprovalExpired:        "You were asked in vain",
	audit.ApprovalConsumed:       "An approval was used",
	audit.ActionHeld:             "An action waits for you",
	audit.ActionReserved:         "An action is about to run",
	audit.ActionExecuted:         "An action was carried out",
	audit.ActionFailed:           "An action did not run",
	audit.ActionUnknown:          "Nobody knows whether an action ran",
	audit.ConnectionRequested:    "A connection was asked for",
	audit.ConnectionLookedUp:     "A node’s card was fetched",
	audit.ConnectionReceived:     "A contact asks to connect",
	audit.ConnectionAccepted:     "You accepted a request to connect",
	audit.ConnectionActive:       "A connection is active",
	audit.ConnectionRejected:     "A connection was rejected",
	audit.ConnectionRevoked:      "A connection has ended",
	audit.ConnectionKeyChanged:   "A contact’s node has another key",
	audit.ConnectionLogDiffers:   "A contact’s log is not the one that it showed before",
	audit.ConnectionKeyOffered:   "A contact’s node announces a new key",
	audit.ConnectionKeyDisputed:  "A contact’s node announces two keys that contradict each other",
	audit.ConnectionKeyAccepted:  "You accepted the new key of a contact’s node",
	audit.ConnectionKeyRefused:   "You refused the new key of a contact’s node",
	audit.ConnectionKeyKnown:     "A contact has accepted the new key of this node",
	audit.ConnectionKeyDeclined:  "A contact has refused the new key of this node",
	audit.KeyRotated:             "The key of this node was replaced",
	audit.KeyErased:              "An earlier key of this node was erased",
	audit.ConnectionSettings:     "The settings of a contact were changed",
	audit.InvitationCreated:      "An invitation was made",
	audit.InvitationUsed:         "An invitation was used",
	audit.AgentCreated:           "An agent was created",
	audit.AgentModeChanged:       "An agent’s mode was changed",
	audit.AgentStatusChanged:     "An agent was enabled or disabled",
	audit.AgentToolsChanged:      "The tools that an agent sees were changed",
	audit.AgentKeyChanged:        "An agent’s key was replaced",
	audit.GrantSet:               "A grant was set",
	audit.GrantRemoved:           "A grant was removed",
	audit.OverlaySet:             "Your own rules were set",
	audit.OverlayRemoved:         "Your own rules were removed",
	audit.ClientRegistered:       "A program registered",
	audit.ClientAuthorized:       "You let a program act as an agent",
	audit.ClientRefused:          "You refused a program",
	audit.ClientRevoked:          "A program was disconnected",
	audit.ClientReused:           "A program’s token was used twice, and it was disconnected",
	audit.OwnerCreated:           "The owner was named",
	audit.OwnerPasswordSet:       "The password was set",
	audit.OwnerAuthFailed:        "Somebody failed to sign in",
	audit.OwnerSessionOpened:     "Somebody signed in",
	audit.OwnerSessionEnded:      "A session ended",
	audit.OwnerConfirmed:         "You signed in again within a session",
	audit.OwnerPasskeyAdded:      "A passkey was added",
	audit.OwnerPasskeyRemoved:    "A passkey was removed",
	audit.OwnerRecoveryCodesMade: "Recovery codes were made",
	audit.OwnerRecoveryCodeUsed:  "A recovery code was used",
	audit.OwnerLinkMade:          "A one-time link was made",
	audit.OwnerLinkUsed:          "A one-time link was used",
	audit.NodeStarted:            "The node started",
	audit.NodeBackedUp:           "You made a backup",
	audit.NodeRestored:           "The node was restored from a backup",
	audit.NodeMasterReplaced:     "The master key was replaced",
	audit.Exported:               "The log was exported",
	audit.Compared:               "The log was compared with what contacts kept of it",
}

func typeWords(kind audit.Type) string {
	if words, ok := happenedWords[kind]; ok {
		return words
	}
	return strings.ReplaceAll(view.Words(string(kind)), ".", ": ")
}

// typeOptions are all types, in groups by their first part.
var typeOptions = func() (options []view.Option) {
	for _, kind := range audit.Types {
		group, _, _ := strings.Cut(string(kind), ".")
		options = append(options, view.Option{Value: string(kind), Text: typeWords(kind), Group: capital(group)})
	}
	return options
}()

func capital(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	return string(unicode.ToUpper(first)) + word[size:]
}

// teller puts rows of the log into words.
type teller struct {
	v        *visit
	tx       node.Tx
	agents   map[string]string
	contacts map[string]string
}

func (v *visit) newTeller(tx node.Tx) (*teller, error) {
	names, err := v.d.agentNames(tx)
	return &teller{v: v, tx: tx, agents: names, contacts: map[string]string{}}, err
}

// contact names the contact of a connection; "" where there is none.
func (t *teller) contact(connectionID string) (string, error) {
	if connectionID == "" {
		return "", nil
	}
	if name, known := t.contacts[connectionID]; known {
		return name, nil
	}
	connection, err := t.v.d.connectionName(t.tx, connectionID)
	t.contacts[connectionID] = connection.Contact
	return connection.Contact, err
}

func (t *teller) tell(row audit.Row) (view.ActivityRow, error) {
	contact, err := t.contact(row.ConnectionID)
	if err != nil {
		return view.ActivityRow{}, err
	}
	told := view.ActivityRow{
		URL: fmt.Sprint("/activity/", row.Position), Position: row.Position, What: view.Sentence{view.Plain(typeWords(row.Type))}, At: row.At,
		By: t.by(row, contact),
	}
	if row.Type == audit.PolicyDecided {
		told.What, told.Chip, told.Meaning = decided(row)
	} else {
		told.What = append(told.What, details(row)...)
	}
	return told, nil
}

// by says who did it, and whom it concerns.
func (t *teller) by(row audit.Row, contact string) view.Sentence {
	said := view.Sentence{view.Plain("by "), view.Bold(t.actor(row, contact))}
	if agent := t.agents[row.AgentID]; agent != "" && row.ActorKind != node.ActorAgent {
		said = append(said, view.Plain(" · agent "), view.Bold(agent))
	}
	if contact != "" && row.ActorKind != node.ActorPeer {
		said = append(said, view.Plain(" · contact "), view.Bold(contact))
	}
	return said
}

func (t *teller) actor(row audit.Row, contact string) string {
	switch row.ActorKind {
	case node.ActorOwner:
		return "you"
	case node.ActorAgent:
		if name := t.agents[row.AgentID]; name != "" {
			return name
		}
		return "an agent"
	case node.ActorPeer:
		if contact != "" {
			return contact
		}
		return "another node"
	}
	return "the node"
}

// details are the words of a row's data that tell most.
func details(row audit.Row) view.Sentence {
	var data struct {
		Type, Action, Code, Outcome, Capability, Handle, Status, Mode, Client string
	}
	_ = json.Unmarshal(row.Data, &data)
	var said view.Sentence
	for _, word := range []string{data.Type, data.Action, data.Handle, data.Capability, data.Client} {
		if word != "" {
			said = append(said, view.Plain(" · "), view.Bold(word))
		}
	}
	if data.Code != "" {
		said = append(said, view.Plain(" · "), view.Bold(why(data.Code)))
	}
	return said
}

// decided says what the rules decided on what.
func decided(row audit.Row) (what view.Sentence, chip string, meaning view.Meaning) {
	var data struct {
		Contact  string                     `json:"contact"`
		Outcome  policy.Outcome             `json:"outcome"`
		Answers  map[string]json.RawMessage `json:"answers"`
		DenyOnly bool                       `json:"denyOnly"`
	}
	if json.Unmarshal(row.Data, &data) != nil {
		return view.Sentence{view.Plain(typeWords(row.Type))}, "", ""
	}
	what = view.Sentence{view.Plain("The rules on ")}
	if data.DenyOnly {
		what = view.Sentence{view.Plain("Asked again before it left: the rules on ")}
	}
	names := sortedKeys(data.Answers)
	slices.Sort(names)
	for i, name := range names {
		if i > 0 {
			what = append(what, view.Plain(" · "))
		}
		what = append(what, view.Bold(name))
	}
	if data.Contact != "" {
		what = append(what, view.Plain(" towards "), view.Bold(data.Contact))
	}
	chip, meaning = outcomeWords(data.Outcome)
	return what, chip, meaning
}

func outcomeWords(outcome policy.Outcome) (string, view.Meaning) {
	switch outcome {
	case policy.Allowed:
		return "allowed", view.OK
	case policy.Held:
		return "held", view.Waits
	}
	return "refused", view.No
}
