package actions_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/actions"
	"agentlink/approvals"
	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/audit"
	"agentlink/policy"
)

// TestRunAutomatic is step 5 of running: without an approval only where the rules
// allow it; then the run leaves an approval that is marked used.
func TestRunAutomatic(t *testing.T) {
	t.Parallel()
	for _, reason := range []policy.Reason{
		policy.ModeNotAutonomous, policy.NoAllowGrant, policy.ConstraintsNotMatched, policy.GrantAsks, policy.ContactDeniesAction, policy.GrantAllows,
	} {
		for _, withTask := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/task=%v", reason, withTask), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.task()
				w.rules.set(reason)
				request := start(booking, "")
				if !withTask {
					request = start(aloneBooking, "")
				}
				run, err := w.run(request)
				if reason != policy.GrantAllows {
					wantDenied(t, err, string(reason), true)
					return
				}
				if err != nil || !run.Automatic || run.Outcome() != actions.Done || w.status(run.ApprovalID) != approvals.Consumed {
					t.Fatalf("got %+v, %v", run, err)
				}
				if want := map[bool]string{true: "sent", false: ""}[withTask]; run.TaskConfirmation != want {
					t.Errorf("confirmation is %q, want %q", run.TaskConfirmation, want)
				}
			})
		}
	}
}

// TestAutomaticNeedsWhatWasAgreed: an allow grant stands for exactly what both
// sides accepted, in every field that the task type maps.
func TestAutomaticNeedsWhatWasAgreed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, parameters string
		proposal         string
		held             bool
	}{
		{"equal", booking, "", false},
		{"written otherwise", strings.Replace(booking, `"partySize":4`, `"partySize":4.0`, 1), "", false},
		{"notes are not part of what was agreed", strings.Replace(booking, `{`, `{"notes":"Window",`, 1), "", false},
		{"another venue", strings.Replace(booking, "Nonna", "Nonno", 1), "", true},
		{"the venue in other letters", strings.Replace(booking, "Nonna", "nonna", 1), "", true},
		{"another day", strings.Replace(booking, "12-04", "12-05", 1), "", true},
		{"another time", strings.Replace(booking, "19:30", "19:31", 1), "", true},
		{"another party size", strings.Replace(booking, `"partySize":4`, `"partySize":5`, 1), "", true},
		{"a venue that nobody agreed on", booking, `{"date":"2026-12-04","time":"19:30","timezone":"Europe/Rome","partySize":4}`, true},
		{"a party size that nobody agreed on", booking, `{"date":"2026-12-04","time":"19:30","timezone":"Europe/Rome","venue":{"name":"Trattoria Nonna"}}`, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task(func(task *coordination.Task) {
				if test.proposal != "" {
					task.Copy.Proposals[0].Fields = json.RawMessage(test.proposal)
				}
			})
			w.rules.set(policy.GrantAllows)
			_, err := w.run(start(test.parameters, ""))
			if !test.held {
				if err != nil {
					t.Error(err)
				}
				return
			}
			wantDenied(t, err, "parameters_differ", true)
			if got := w.events(); got[audit.ActionHeld] != 1 || got[audit.PolicyDecided] != 1 || got[audit.ActionReserved] != 0 {
				t.Errorf("audit log: %v", got)
			}
			w.mustRun(start(test.parameters, w.approved(book(test.parameters)).ID)) // with an approval it may differ
		})
	}
}

// TestRestoredTask (D13): what may have run after the backup that the node was
// restored from runs again only by its owner's word, who is warned.
func TestRestoredTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	w.rules.set(policy.GrantAllows)
	w.clock.Advance(time.Minute)
	restored := w.restarted(func(c *actions.Config) { c.RestoredAt = w.clock.Now() })
	_, err := restored.run(start(booking, ""))
	wantDenied(t, err, "restored_copy", true)
	if got := restored.events(); got[audit.ActionHeld] != 1 || got[audit.ActionReserved] != 0 {
		t.Errorf("audit log: %v", got)
	}
	a, err := restored.ask(book(booking))
	if err != nil {
		t.Fatal(err)
	}
	var explained actions.View
	restored.do(func(tx node.Tx) (err error) {
		explained, err = restored.Explain(tx, a)
		return err
	})
	if len(explained.Warnings) != 1 || explained.Warnings[0].Kind != actions.RestoredTask {
		t.Errorf("the owner is not warned: %+v", explained.Warnings)
	}
}

// TestExecutingRole is D6: the role that the task type does not name is held, and
// its owner may override.
func TestExecutingRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(func(task *coordination.Task) { task.Role = coordination.Responder })
	w.rules.set(policy.GrantAllows)
	_, err := w.run(start(booking, ""))
	wantDenied(t, err, "not_executing_role", true)
	a, err := w.ask(book(booking))
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true})
	if diff := cmp.Diff([]string{"override"}, fields(err)); diff != "" || w.status(a.ID) != approvals.Pending {
		t.Errorf("without an override: %v, approval %s", err, w.status(a.ID))
	}
	if _, err := w.decide(approvals.Decision{ID: a.ID, Hash: a.Hash, Approve: true, Override: true}); err != nil {
		t.Fatal(err)
	}
	if run := w.mustRun(start(booking, a.ID)); run.Outcome() != actions.Done {
		t.Errorf("run: %+v", run)
	}
}

// TestNoOverrideWithoutWarning: rejecting needs neither override nor word.
func TestNoOverrideWithoutWarning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(func(task *coordination.Task) { task.Role = coordination.Responder })
	a, err := w.ask(book(booking))
	if err != nil {
		t.Fatal(err)
	}
	w.decideOrFail(a, false)
}
