package simulation

import (
	"context"
	"fmt"
	"strings"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// checkLogs verifies the audit log of both sides.
func (h *history) checkLogs() {
	h.t.Helper()
	for _, s := range h.sides {
		must(h.t, s.store.View(context.Background(), func(tx node.Tx) error {
			report, err := s.audit.Verify(tx, true)
			if err == nil && !report.OK() {
				h.fail("the audit log of %s: %s", s.name, report.Problem)
			}
			return err
		}))
	}
}

// auditIsWhole is I10.
func auditIsWhole(h *history) string {
	for _, s := range h.sides {
		var report audit.Report
		must(h.t, s.store.View(context.Background(), func(tx node.Tx) (err error) {
			report, err = s.audit.Verify(tx, true)
			return err
		}))
		if !report.OK() {
			return fmt.Sprintf("the audit log of %s: %s", s.name, report.Problem)
		}
		logged := s.entries(h)
		for _, e := range s.changes(h) {
			if logged[e] == 0 {
				return fmt.Sprintf("%s has no entry %s for %s", s.name, e.typ, e.subject)
			}
		}
	}
	return ""
}

// entry is what a row of the log says, and of what.
type entry struct {
	typ     audit.Type
	subject string
}

func (s *side) entries(h *history) map[entry]int {
	found := map[entry]int{}
	filter := audit.Filter{AgentID: s.agent.ID, Limit: 1000, Hashes: true} // Verify opens the data
	for more := true; more; {
		s.in(h.t, func(tx node.Tx) error {
			rows, err := s.store.AuditRows(tx, filter)
			for _, row := range rows {
				found[entry{row.Type, row.Subject}]++
				filter.After = row.Position
			}
			more = len(rows) == filter.Limit
			return err
		})
	}
	return found
}

// changes are what the tables say has happened, as entries that the log has to have.
func (s *side) changes(h *history) (all []entry) {
	for _, a := range s.known(h).everyApproval() {
		for _, typ := range approvalEntries(a) {
			all = append(all, entry{typ, a.ID})
		}
	}
	for _, m := range s.known(h).thread(coordination.Out) {
		if typ, ok := map[coordination.MessageStatus]audit.Type{
			coordination.MsgQueued: audit.MessageQueued, coordination.MsgDelivered: audit.MessageDelivered,
			coordination.MsgRejected: audit.MessageRejected, coordination.MsgFailed: audit.MessageFailed,
			coordination.MsgPendingApproval: audit.MessageHeld,
		}[m.Status]; ok && hasRow(m.Type) {
			all = append(all, entry{typ, m.ID})
		}
	}
	for _, m := range s.known(h).thread(coordination.In) {
		switch {
		case m.Status == coordination.MsgReceived && hasRow(m.Type):
			all = append(all, entry{audit.MessageReceived, m.ID})
		case m.Status == coordination.MsgRejected && m.Type.ForTask():
			all = append(all, entry{audit.TaskMessageRejected, m.ID})
		}
	}
	for key := range s.runs {
		run, _ := s.tied(h, key)
		all = append(all, entry{audit.ActionReserved, key})
		if run.State == actions.Succeeded {
			all = append(all, entry{audit.ActionExecuted, key})
		}
	}
	return append(all, s.decisions(h)...)
}

func approvalEntries(a approvals.Approval) []audit.Type {
	var types []audit.Type
	if a.Automatic {
		return []audit.Type{audit.ApprovalConsumed}
	}
	switch a.Status {
	case approvals.Rejected:
		types = []audit.Type{audit.ApprovalRejected}
	case approvals.Expired:
		types = []audit.Type{audit.ApprovalExpired}
	case approvals.Approved:
		types = []audit.Type{audit.ApprovalApproved}
	case approvals.Consumed:
		types = []audit.Type{audit.ApprovalApproved}
		if a.Kind == approvals.Action {
			types = append(types, audit.ApprovalConsumed)
		}
	}
	return append(types, audit.ApprovalRequested)
}

// decisions are the policy's; the newest thousand are enough for one history.
func (s *side) decisions(h *history) (all []entry) {
	s.in(h.t, func(tx node.Tx) error {
		list, err := s.store.Decisions(tx, s.agent.ID, s.agent.CreatedAt, 1000, func([]policy.Answer) bool { return true })
		for _, d := range list {
			all = append(all, entry{audit.PolicyDecided, d.ID})
		}
		return err
	})
	return all
}

// canary stands in every text that the agents and owners of a simulation write:
// titles, chat, reasons, notes, fields and parameters.
const canary = "kanarienvogel"

// nothingIsReadable is I12. It reads every cell of a database in memory as it is
// stored, and all that the processes have logged.
func nothingIsReadable(h *history) string {
	for _, s := range h.sides {
		if strings.Contains(s.logged.text.String(), canary) {
			return s.name + " logged it: " + s.logged.text.String()
		}
		if s.raw == nil {
			continue // PostgreSQL: the tests of what is at rest look into its dump
		}
		for _, table := range cells(h, s, "SELECT name FROM sqlite_master WHERE type = 'table'") {
			for _, cell := range cells(h, s, `SELECT * FROM "`+table+`"`) {
				if strings.Contains(cell, canary) {
					return fmt.Sprintf("%s has it in table %s: %s", s.name, table, cell)
				}
			}
		}
	}
	return ""
}

// cells gives all values of a query, as they are stored.
func cells(h *history, s *side, query string) []string {
	h.t.Helper()
	all, err := s.raw.Cells(context.Background(), query)
	must(h.t, err)
	return all
}

// nothingIsOpen is the end of I11: after all deadlines no task, approval, message
// or run waits for anything.
func nothingIsOpen(h *history) (problem string) {
	for i, own := range h.copies() {
		for uid, task := range own {
			if !task.Status.Ended() {
				return fmt.Sprintf("task %s of %s is %s", uid, h.sides[i].name, task.Status)
			}
		}
	}
	for _, s := range h.sides {
		for _, a := range s.known(h).everyApproval() {
			if a.Status.Open() {
				return fmt.Sprintf("approval %s of %s is %s", a.ID, s.name, a.Status)
			}
		}
		for _, m := range s.known(h).thread(coordination.Out) {
			if m.Status == coordination.MsgPendingApproval {
				return fmt.Sprintf("%s %s of %s still waits for the owner", m.Type, m.ID, s.name)
			}
		}
		s.in(h.t, func(tx node.Tx) error {
			lost, err := s.store.LostRun(tx)
			if lost {
				problem = "a run of " + s.name + " is not settled"
			}
			return err
		})
	}
	return problem
}
