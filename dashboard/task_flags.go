package dashboard

import (
	"encoding/json"
	"net/url"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// The names of what can be wrong with a task.
const (
	flagDisagreement = "disagreement"
	flagDoubleRun    = "booked twice"
	flagOutOfStep    = "out of step"
	flagInDoubt      = "in doubt"
	flagOwed         = "confirmation owed"
)

func flagNames(task coordination.Task) (names []string) {
	switch task.Disagreement {
	case coordination.ConfirmedVsEnded:
		names = append(names, flagDisagreement)
	case coordination.DoubleRun:
		names = append(names, flagDoubleRun)
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{task.OutOfStep, flagOutOfStep}, {task.InDoubt, flagInDoubt}, {task.ConfirmOwed, flagOwed}} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// seeTroubles reads what the flags have to explain.
func (v *visit) seeTroubles(tx node.Tx, seen *seenTask) error {
	if seen.OutOfStep {
		rows, err := v.d.Events.AuditRows(tx, audit.Filter{
			TaskUID: seen.UID, AgentID: seen.AgentID, Types: []audit.Type{audit.TaskOutOfStep}, Newest: true, Limit: 1,
		})
		if err != nil {
			return err
		}
		for _, row := range rows {
			var data struct {
				Code string `json:"code"`
			}
			_ = json.Unmarshal(row.Data, &data)
			seen.outOfStep = data.Code
		}
	}
	if !seen.ConfirmOwed {
		return nil
	}
	answers, err := v.d.Decider.Capabilities(tx, policy.Request{
		AgentID: seen.AgentID, Contact: seen.Contact, Connection: string(seen.connection.Status),
	}, []string{policy.TaskRespond})
	for _, answer := range answers {
		seen.barred = seen.barred || answer.Outcome == policy.Refused
	}
	return err
}

func (s *seenTask) flags() []view.Flag {
	var flags []view.Flag
	for _, name := range flagNames(s.Task) {
		flags = append(flags, map[string]func() view.Flag{
			flagDisagreement: s.disagreement, flagDoubleRun: s.doubleRun, flagOutOfStep: s.notInStep, flagInDoubt: s.inDoubt, flagOwed: s.owed,
		}[name]())
	}
	return flags
}

func (s *seenTask) contactLink() view.Link {
	return view.Link{Text: "Contact", URL: "/contacts/" + url.PathEscape(s.ConnectionID)}
}

func (s *seenTask) disagreement() view.Flag {
	return view.Flag{
		Name: "The two sides disagree on how it ended",
		What: view.Sentence{
			view.Plain("A cancellation and a confirmation crossed on their way. What was carried out stands, and both nodes know of the difference: one says confirmed, the other cancelled."),
		},
		Bookings: s.bookings(),
		Do: view.Sentence{
			view.Plain("Settle it with "), view.Bold(s.Contact),
			view.Plain(" in person. If nobody wants it any more, cancel it where it was made; the code says which one it is."),
		},
		Links: []view.Link{s.contactLink()},
	}
}

func (s *seenTask) doubleRun() view.Flag {
	return view.Flag{
		Name:     "It was carried out twice",
		What:     view.Sentence{view.Plain("Both sides carried out the action and confirmed it. Both nodes know.")},
		Bookings: s.bookings(),
		Do: view.Sentence{
			view.Plain("Cancel one of the two where it was made, and tell "), view.Bold(s.Contact), view.Plain(" which one you keep."),
		},
		Links: []view.Link{s.contactLink()},
	}
}

func (s *seenTask) notInStep() view.Flag {
	what := view.Sentence{view.Plain("The two copies of this task may differ from here on, so this node applies nothing more to it")}
	if s.outOfStep != "" {
		what = append(what, view.Plain("; the cause: "+why(s.outOfStep)))
	}
	return view.Flag{
		Name: "The two copies no longer follow one another",
		What: append(what, view.Plain(".")),
		Do: view.Sentence{
			view.Plain("Ask "), view.Bold(s.Contact), view.Plain(" how it looks on their side, and let your agents start a new task if it is still wanted. This one ends by itself."),
		},
		Links: []view.Link{s.contactLink()},
	}
}

func (s *seenTask) inDoubt() view.Flag {
	return view.Flag{
		Name: "It is not known whether our last message arrived",
		What: view.Sentence{
			view.Plain("It was taken back after it may have left. The node asks the other side what became of it; until it answers, this task takes nothing new from us."),
		},
		Do: view.Sentence{
			view.Plain("You need not do anything. If "), view.Bold(s.Contact), view.Plain(" stays out of reach, the task ends at its deadline."),
		},
	}
}

func (s *seenTask) owed() view.Flag {
	flag := view.Flag{
		Name:     "The other side has not been told that it is done",
		What:     view.Sentence{view.Plain("The action was carried out here, and "), view.Bold(s.Contact), view.Plain(" does not know yet.")},
		Bookings: s.bookings(),
		Links:    []view.Link{s.contactLink()},
	}
	switch {
	case s.OutOfStep:
		flag.Do = view.Sentence{view.Plain("The node cannot tell it in this task any more: tell "), view.Bold(s.Contact), view.Plain(" yourself.")}
	case s.connection.KeyChanged:
		flag.Do = view.Sentence{view.Plain("The contact’s node has another key than before, so nothing is sent to it. Compare the keys, and tell them yourself meanwhile.")}
	case s.connection.Status != coordination.ConnActive:
		flag.Do = view.Sentence{view.Plain("There is no active connection any more: tell "), view.Bold(s.Contact), view.Plain(" yourself.")}
	case s.barred:
		flag.Do = view.Sentence{view.Plain("A grant of yours denies task.respond, or the agent is disabled. As soon as your rules allow it, the node sends the confirmation by itself.")}
		flag.Links = append(flag.Links, view.Link{Text: "The agent’s rules", URL: "/agents/" + url.PathEscape(s.AgentID)})
	default:
		flag.Do = view.Sentence{view.Plain("Nothing stands in the way now: the node sends the confirmation within a minute.")}
	}
	return flag
}

// bookings is what either side carried out, each once.
func (s *seenTask) bookings() []view.Booking {
	var list []view.Booking
	seen := map[coordination.Role]bool{}
	for _, c := range []*coordination.Confirmation{s.Copy.Confirmation, s.Copy.Crossed, s.Executed} {
		if c != nil && !seen[c.By] {
			seen[c.By] = true
			list = append(list, s.booking(*c))
		}
	}
	return list
}

func (s *seenTask) booking(c coordination.Confirmation) view.Booking {
	return view.Booking{Who: s.who(c.By), Action: c.Action, Code: c.Code, At: c.ExecutedAt, Simulated: c.Simulated}
}
