package coordination

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agentlink/coordination/wire"
	"agentlink/node"
)

// TestValidContent is what a message may say by itself.
func TestValidContent(t *testing.T) {
	t.Parallel()
	const dinnerType = "dinner.coordination"
	plan := json.RawMessage(`{"date":"2031-05-09","time":"19:30","timezone":"Europe/Rome","partySize":2,"venue":{"name":"Da Piero"}}`)
	long := func(n int) string { return strings.Repeat("ü", n) }
	confirm := func(change func(*wire.Confirm)) wire.Confirm {
		c := wire.Confirm{Version: 1, Action: "reservation.book", ExecutedAt: time.Date(2031, 5, 4, 12, 0, 0, 0, time.UTC)}
		change(&c)
		return c
	}
	for name, test := range map[string]struct {
		typ      wire.Type
		content  any
		taskType string
		want     bool
	}{
		"a proposal":                  {wire.TaskPropose, wire.Proposal{Version: 2, Fields: plan}, dinnerType, true},
		"a proposal of other fields":  {wire.TaskPropose, wire.Proposal{Version: 2, Fields: json.RawMessage(`{"income":1}`)}, dinnerType, false},
		"a proposal of another type":  {wire.TaskPropose, wire.Proposal{Version: 2, Fields: plan}, "another.type", false},
		"a proposal with more":        {wire.TaskPropose, map[string]any{"version": 2, "fields": plan, "digest": "", "more": 1}, dinnerType, false},
		"yes":                         {wire.TaskRespond, wire.Response{Decision: wire.Accept}, dinnerType, true},
		"no":                          {wire.TaskRespond, wire.Response{Decision: wire.Reject, Reason: long(wire.MaxReason)}, dinnerType, true},
		"no, for too long a reason":   {wire.TaskRespond, wire.Response{Decision: wire.Reject, Reason: long(wire.MaxReason + 1)}, dinnerType, false},
		"perhaps":                     {wire.TaskRespond, wire.Response{Decision: "perhaps"}, dinnerType, false},
		"no response":                 {wire.TaskRespond, "yes", dinnerType, false},
		"a cancel":                    {wire.TaskCancel, wire.Cancel{Reason: long(wire.MaxReason)}, dinnerType, true},
		"a cancel with a long reason": {wire.TaskCancel, wire.Cancel{Reason: long(wire.MaxReason + 1)}, dinnerType, false},
		"no cancel":                   {wire.TaskCancel, 7, dinnerType, false},
		"a confirm":                   {wire.TaskConfirm, confirm(func(*wire.Confirm) {}), dinnerType, true},
		"a full confirm": {wire.TaskConfirm, confirm(func(c *wire.Confirm) {
			c.Code, c.Receipt, c.Salt = long(64), long(4096), long(64)
		}), dinnerType, true},
		"a long code":         {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Code = long(65) }), dinnerType, false},
		"a long receipt":      {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Receipt = long(4097) }), dinnerType, false},
		"a long salt":         {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Salt = long(65) }), dinnerType, false},
		"another action":      {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Action = "calendar.hold" }), dinnerType, false},
		"no action":           {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Action = "" }), dinnerType, false},
		"of another type":     {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Action = "" }), "another.type", false},
		"of what has none":    {wire.TaskConfirm, confirm(func(c *wire.Confirm) { c.Action = "" }), "item.lend", false},
		"no confirm":          {wire.TaskConfirm, []int{1}, dinnerType, false},
		"a message of a chat": {wire.Message, wire.Chat{Text: "Hello"}, dinnerType, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := json.Marshal(test.content)
			if err != nil {
				t.Fatal(err)
			}
			if got := validContent(test.typ, content, test.taskType); got != test.want {
				t.Errorf("valid is %v, want %v", got, test.want)
			}
		})
	}
}

// TestAccepts: only a response that says so is an acceptance.
func TestAccepts(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]bool{
		`{"version":1,"digest":"","decision":"accept"}`: true, `{"version":1,"digest":"","decision":"reject"}`: false,
		`{"version":1,"digest":"","decision":"accept","more":1}`: false, `"accept"`: false,
	} {
		if got := accepts(json.RawMessage(content)); got != want {
			t.Errorf("%s: %v", content, got)
		}
	}
	if got := voids(json.RawMessage(`{"jti":"x","more":1}`)); got != "" {
		t.Errorf("a void that cannot be read names %q", got)
	}
	if got := voids(json.RawMessage(`{"jti":"x"}`)); got != "x" {
		t.Errorf("a void of x names %q", got)
	}
}

// TestTakesOurWrites is why a task takes no message of ours.
func TestTakesOurWrites(t *testing.T) {
	t.Parallel()
	now := copiedDeadline
	for name, test := range map[string]struct {
		change func(*Task)
		want   string
	}{
		"it does":         {func(*Task) {}, ""},
		"out of step":     {func(task *Task) { task.OutOfStep = true }, "out_of_step"},
		"in doubt":        {func(task *Task) { task.InDoubt = true }, "in_doubt"},
		"confirmed":       {func(task *Task) { task.Status = Confirmed }, "task_ended"},
		"cancelled":       {func(task *Task) { task.Status = CancelledTask }, "task_ended"},
		"expired":         {func(task *Task) { task.Status = ExpiredTask }, "task_ended"},
		"at its deadline": {func(task *Task) { task.Deadline = now }, "task_ended"},
		"just before it":  {func(task *Task) { task.Deadline = now.Add(time.Nanosecond) }, ""},
	} {
		task := Task{Status: Negotiating, Deadline: now.Add(time.Hour)}
		test.change(&task)
		if got := string(node.ReasonOf(task.takesOurWrites(now))); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestSettle: awaiting_approval, which the copy does not know, stays while it is agreed.
func TestSettle(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ task, copied, want Status }{
		{AwaitingApproval, Agreed, AwaitingApproval}, {AwaitingApproval, Negotiating, Negotiating},
		{Negotiating, Agreed, Agreed}, {Agreed, Negotiating, Negotiating}, {Open, "", Open},
	} {
		task := Task{Status: test.task, Copy: Copy{Status: test.copied}}
		task.settle()
		if task.Status != test.want {
			t.Errorf("%s with a copy %q becomes %s, want %s", test.task, test.copied, task.Status, test.want)
		}
	}
}

// TestKeepLocal is what a copy keeps that no message says.
func TestKeepLocal(t *testing.T) {
	t.Parallel()
	crossed, other := &Confirmation{Code: "old"}, &Confirmation{Code: "new"}
	for name, test := range map[string]struct{ now, old, want Copy }{
		"its create is void":      {Copy{}, Copy{Title: "Dinner", Status: Negotiating}, Copy{Title: "Dinner", Status: CancelledTask}},
		"what crossed":            {Copy{Title: "a", Status: CancelledTask}, Copy{Title: "b", Crossed: crossed}, Copy{Title: "a", Status: CancelledTask, Crossed: crossed}},
		"what crossed again":      {Copy{Status: CancelledTask, Crossed: other}, Copy{Crossed: crossed}, Copy{Status: CancelledTask, Crossed: other}},
		"that it has expired":     {Copy{Status: Negotiating}, Copy{Expired: true}, Copy{Status: ExpiredTask, Expired: true}},
		"that it had, and ended":  {Copy{Status: Confirmed}, Copy{Expired: true}, Copy{Status: Confirmed, Expired: true}},
		"that it has not expired": {Copy{Status: Negotiating}, Copy{}, Copy{Status: Negotiating}},
	} {
		test.now.keepLocal(test.old)
		if got, want := mustJSON(t, test.now), mustJSON(t, test.want); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func mustJSON(t *testing.T, value any) string {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
