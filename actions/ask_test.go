package actions_test

import (
	"encoding/json"
	"slices"
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

// TestAskSchema is step 1: the parameters match the action's strict schema.
func TestAskSchema(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		ask  actions.Ask
		want string
	}{
		{"no such action", actions.Ask{Action: "reservation.cancel", Parameters: json.RawMessage(`{}`)}, "action"},
		{"no action", actions.Ask{Parameters: json.RawMessage(`{}`)}, "action"},
		{"the capability's name", actions.Ask{Action: "action.reservation.book", Parameters: json.RawMessage(aloneBooking)}, "action"},
		{"no parameters", actions.Ask{Action: "reservation.book"}, "parameters"},
		{"no parameters but a task", actions.Ask{Action: "reservation.book", TaskUID: "dinner"}, "parameters"},
		{"null and a task", actions.Ask{Action: "reservation.book", Parameters: json.RawMessage(`null`), TaskUID: "dinner"}, "parameters"},
		{"unknown parameter", book(strings.Replace(booking, `"partySize"`, `"approved":true,"partySize"`, 1)), "parameters.approved"},
		{"bad day", book(strings.Replace(booking, "2026-12-04", "2026-02-30", 1)), "parameters.date"},
		{"unknown onApproval", actions.Ask{Action: "reservation.book", Parameters: json.RawMessage(booking), OnApproval: "now"}, "onApproval"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			_, err := w.ask(test.ask)
			if diff := cmp.Diff([]string{test.want}, fields(err)); diff != "" {
				t.Errorf("%v:\n%s", err, diff)
			}
			if len(w.events()) != 0 || w.dinner().Status != coordination.Agreed {
				t.Error("a bad request changed something")
			}
		})
	}
}

// TestAskTask is step 2: the task inside the parameters, beside them, or both.
func TestAskTask(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, parameters, beside string
		want                     string // task of the approval
		fails                    string
	}{
		{"nowhere", aloneBooking, "", "", ""},
		{"inside", booking, "", "dinner", ""},
		{"beside", aloneBooking, "dinner", "dinner", ""},
		{"both", booking, "dinner", "dinner", ""},
		{"both, and not the same", booking, "lunch", "", "bad_request"},
		{"not there", aloneBooking, "lunch", "", "not_found"},
		{"inside and no text", strings.Replace(booking, `"dinner"`, `5`, 1), "dinner", "", "bad_request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			a, err := w.ask(actions.Ask{Action: "reservation.book", Parameters: json.RawMessage(test.parameters), TaskUID: test.beside})
			if problem(err) != test.fails {
				t.Fatalf("got %v, want %q", err, test.fails)
			}
			if err != nil {
				return
			}
			var inside struct{ TaskUID string }
			if err := json.Unmarshal(a.Parameters, &inside); err != nil || inside.TaskUID != test.want || a.TaskUID != test.want {
				t.Errorf("task is %q, in the parameters %q, want %q", a.TaskUID, inside.TaskUID, test.want)
			}
			wanted := booking
			if test.want == "" {
				wanted = aloneBooking
			}
			hash, err := w.approvals.Hash("reservation.book", json.RawMessage(wanted))
			if err != nil || a.Hash != hash {
				t.Errorf("the hash does not cover the task: %s, want %s", a.Hash, hash)
			}
		})
	}
}

type taskState struct {
	name   string
	change func(*coordination.Task)
	want   string // code and reason; "" where it can
}

// taskStates are the states in which a task can be asked for, and run for.
var taskStates = []taskState{
	{"agreed", func(*coordination.Task) {}, ""},
	{"awaiting approval", func(t *coordination.Task) { t.Status = coordination.AwaitingApproval }, ""},
	{"open", func(t *coordination.Task) { t.Status = coordination.Open }, "conflict bad_state"},
	{"negotiating", func(t *coordination.Task) { t.Status = coordination.Negotiating }, "conflict bad_state"},
	{"confirmed", func(t *coordination.Task) { t.Status = coordination.Confirmed }, "conflict task_ended"},
	{"cancelled", func(t *coordination.Task) { t.Status = coordination.CancelledTask }, "conflict task_ended"},
	{"expired", func(t *coordination.Task) { t.Status = coordination.ExpiredTask }, "conflict task_ended"},
	{"at its deadline", func(t *coordination.Task) { t.Deadline = noon }, "conflict task_ended"},
	{"a microsecond before", func(t *coordination.Task) { t.Deadline = noon.Add(time.Microsecond) }, ""},
	{"nothing accepted", func(t *coordination.Task) { t.Copy.Accepted = 0 }, "conflict bad_state"},
	{"in doubt", func(t *coordination.Task) { t.InDoubt = true }, "conflict in_doubt"},
	{"out of step", func(t *coordination.Task) { t.OutOfStep = true }, "conflict out_of_step"},
	{"of another type", func(t *coordination.Task) { t.Type = "meeting.schedule" }, "bad_request"},
	{"of a type without an action", func(t *coordination.Task) { t.Type = "item.lend" }, "bad_request"},
}

// TestAskState is steps 3 and 5: the task is agreed or awaiting approval, within
// its deadline, and awaits approval then.
func TestAskState(t *testing.T) {
	t.Parallel()
	for _, test := range append(slices.Clone(taskStates), taskState{
		"another agent's", func(t *coordination.Task) { t.AgentID = "second" }, "not_found",
	}) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task(test.change)
			a, err := w.ask(book(booking))
			if problem(err) != test.want {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if err == nil && (w.dinner().Status != coordination.AwaitingApproval || a.AcceptedDigest != "digest of 2" || a.Contact != "bob@b.example") {
				t.Errorf("task %s, approval %+v", w.dinner().Status, a)
			}
		})
	}
}

// TestAskRefused is step 4: a grant that denies refuses straight away, and the
// decision is kept.
func TestAskRefused(t *testing.T) {
	t.Parallel()
	for _, reason := range []policy.Reason{policy.GrantDenies, policy.AgentDisabled} {
		t.Run(string(reason), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task()
			w.rules.set(reason)
			_, err := w.ask(book(booking))
			wantDenied(t, err, string(reason), false)
			if diff := cmp.Diff(map[audit.Type]int{audit.PolicyDecided: 1}, w.events()); diff != "" || w.dinner().Status != coordination.Agreed {
				t.Errorf("task %s, audit log:\n%s", w.dinner().Status, diff)
			}
		})
	}
}

// wantDenied checks the details of a policy_denied for reservation.book.
func wantDenied(t *testing.T, err error, reason string, approvalRequired bool) {
	t.Helper()
	known, ok := node.AsError(err)
	if !ok || known.Code != node.PolicyDenied {
		t.Fatalf("got %v, want policy_denied", err)
	}
	got, err := json.Marshal(known.Details)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"approvalRequired":` + map[bool]string{true: "true", false: "false"}[approvalRequired] +
		`,"denied":["action.reservation.book"],"reasons":{"action.reservation.book":"` + reason + `"}}`
	if string(got) != want {
		t.Errorf("details are %s, want %s", got, want)
	}
}

// TestAskAnswer is step 6: id, hash, expiry and final parameters come back; why
// the owner is needed stands in the approval.
func TestAskAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		reason policy.Reason
		role   coordination.Role
		held   map[string]string
	}{
		{"not autonomous", policy.ModeNotAutonomous, coordination.Initiator, map[string]string{"action.reservation.book": "mode_not_autonomous"}},
		{"a grant asks", policy.GrantAsks, coordination.Initiator, map[string]string{"action.reservation.book": "grant_asks"}},
		{"allowed, and asked for all the same", policy.GrantAllows, coordination.Initiator, map[string]string{}},
		{"allowed, and the other side is to run it", policy.GrantAllows, coordination.Responder, map[string]string{"action.reservation.book": "not_executing_role"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.task(func(task *coordination.Task) { task.Role = test.role })
			w.rules.set(test.reason)
			a, err := w.ask(book(booking))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.held, a.Held); diff != "" {
				t.Error(diff)
			}
			if a.Status != approvals.Pending || a.ID == "" || !a.ExpiresAt.Equal(noon.Add(24*time.Hour)) || a.OnApproval != approvals.Wait {
				t.Errorf("approval: %+v", a)
			}
			if diff := cmp.Diff(string(node.MustCanonical(json.RawMessage(booking))), string(a.Parameters)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAskedForTheContact: the rules hear the task's contact and the parameters.
func TestAskedForTheContact(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	if _, err := w.ask(book(booking)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.ask(book(aloneBooking)); err != nil {
		t.Fatal(err)
	}
	got := w.rules.asked
	want := policy.Request{
		AgentID: "agent", Contact: "bob@b.example", Connection: "active", TaskUID: "dinner",
		Capabilities: []string{"action.reservation.book"},
		Fields:       map[string]any{"venue": "Trattoria Nonna", "date": "2026-12-04", "time": "19:30", "partySize": 4.0, "taskUid": "dinner"},
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Error(diff)
	}
	if got[1].Contact != "" || got[1].Connection != "" || got[1].TaskUID != "" {
		t.Errorf("without a task the rules hear %+v", got[1])
	}
}

// TestAskNeverOutlivesTheTask: the approval ends with the task's deadline at the latest.
func TestAskNeverOutlivesTheTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task(func(task *coordination.Task) { task.Deadline = noon.Add(time.Hour) })
	a, err := w.ask(book(booking))
	if err != nil || !a.ExpiresAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("expires %s (%v)", a.ExpiresAt, err)
	}
}

// TestAskAgain: the same pending request gives the same approval; after a no the
// agent may ask again, and the task waited for it.
func TestAskAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.task()
	first, err := w.ask(book(booking))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := w.ask(book(booking)); err != nil || again.ID != first.ID {
		t.Errorf("the same request gives %s, %v", again.ID, err)
	}
	if _, err := w.decide(approvals.Decision{ID: first.ID, Hash: first.Hash}); err != nil {
		t.Fatal(err)
	}
	if got := w.dinner().Status; got != coordination.AwaitingApproval {
		t.Errorf("after a no the task is %s", got)
	}
	if _, err := w.run(start(booking, first.ID)); problem(err) != "conflict approval_rejected" {
		t.Errorf("running after a no gives %v", err)
	}
	if again, err := w.ask(book(booking)); err != nil || again.ID == first.ID {
		t.Errorf("asking after a no gives %s, %v", again.ID, err)
	}
}
