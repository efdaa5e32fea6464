package node_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
)

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	cause := errors.New("the disk is full")
	for name, test := range map[string]struct {
		err    error
		code   node.Code
		reason node.Reason
	}{
		"plain":               {cause, node.Internal, ""},
		"ours":                {node.Errorf(node.NotFound, "There is no such task."), node.NotFound, ""},
		"ours, wrapped by %w": {fmt.Errorf("load: %w", node.Errorf(node.Unavailable, "Later.")), node.Unavailable, ""},
		"conflict":            {node.ConflictFor(node.ReasonTaskEnded, "The task has ended."), node.Conflict, node.ReasonTaskEnded},
		"wrapped plain":       {node.Wrap(cause, "save"), node.Internal, ""},
		"wrapped ours":        {node.Wrap(node.ConflictFor(node.ReasonInDoubt, "Wait."), "save"), node.Conflict, node.ReasonInDoubt},
		"field":               {node.BadFields(node.Field{Field: "text", Problem: "is too long"}), node.BadRequest, ""},
	} {
		if got := node.CodeOf(test.err); got != test.code {
			t.Errorf("%s: code %s", name, got)
		}
		if got := node.ReasonOf(test.err); got != test.reason {
			t.Errorf("%s: reason %s", name, got)
		}
	}
	if node.Wrap(nil, "save") != nil {
		t.Error("nil becomes an error")
	}
}

// A cause is for the log, never for the caller.
func TestErrorKeepsCauseApart(t *testing.T) {
	t.Parallel()
	cause := errors.New("password hunter2")
	err := node.Wrap(cause, "connect")
	e, ok := node.AsError(err)
	if !ok || !errors.Is(err, cause) {
		t.Fatalf("%v", err)
	}
	if strings.Contains(e.Message, "hunter2") || len(e.Details) > 0 {
		t.Errorf("the message tells the cause: %s %v", e.Message, e.Details)
	}
	if want := "internal: Something went wrong inside the node.: connect: password hunter2"; e.Error() != want {
		t.Errorf("for the log: %q", e.Error())
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	if got, want := node.ConflictFor(node.ReasonStaleVersion, "Version %d came first.", 3).Error(), "conflict (stale_version): Version 3 came first."; got != want {
		t.Errorf("%q", got)
	}
	two := node.BadFields(node.Field{Field: "date", Problem: "is no date"}, node.Field{Field: "time", Problem: "is missing"})
	if want := `The field "date" is no date.`; two.Message != want {
		t.Errorf("%q", two.Message)
	}
	want := map[string]any{"fields": []node.Field{{Field: "date", Problem: "is no date"}, {Field: "time", Problem: "is missing"}}}
	if diff := cmp.Diff(want, two.Details); diff != "" {
		t.Error(diff)
	}
	if got := node.BadFields().Message; got != "The request is not valid." {
		t.Errorf("%q", got)
	}
}

// The lists are what tables elsewhere are checked against.
func TestErrorListsAreComplete(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]string{"Code": texts(node.Codes), "Reason": texts(node.Reasons)} {
		declared := constants(t, name)
		slices.Sort(list)
		slices.Sort(declared)
		if diff := cmp.Diff(declared, list); diff != "" {
			t.Errorf("%s: declared (-) and listed (+) differ:\n%s", name, diff)
		}
	}
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = string(item)
	}
	return out
}
