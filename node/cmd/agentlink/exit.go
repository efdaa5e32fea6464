package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/api/socket"
	"agentlink/node/display"
)

// The exit codes; the help of the root command documents them.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2
	exitNotRunning = 3
)

// usageError means that the command line or the settings are wrong or unsafe.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// usage makes the error of a wrong command line and points to the help.
func usage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...) + fmt.Sprintf("\nSee: %s --help", cmd.CommandPath())}
}

// unsafe makes the error of a setting that the command does not start with.
func unsafe(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// quietFailure is a failure that the answer has already told.
type quietFailure struct{}

func (quietFailure) Error() string { return "failed" }

// report prints an error as one sentence, or as JSON, and gives the exit code.
func (c *cli) report(err error) int {
	var told *quietFailure
	if errors.As(err, &told) {
		return exitFailed
	}
	refusal, code := classify(err)
	if c.json {
		fmt.Fprintln(c.stderr, string(display.JSON(refusal.JSON())))
		return code
	}
	fmt.Fprintf(c.stderr, "agentlink: %s\n", refusal.Message)
	return code
}

// codeNotRunning stands beside the node's own codes in JSON.
const codeNotRunning = node.Code("not_running")

func classify(err error) (problem.Problem, int) {
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		return problem.Problem{Code: node.BadRequest, Message: wrong.text, Details: map[string]any{}}, exitUsage
	case errors.Is(err, socket.ErrNotRunning):
		return problem.Problem{
			Code: codeNotRunning, Message: "The node is not running. Start it with: agentlink serve", Details: map[string]any{},
		}, exitNotRunning
	}
	if refused, ok := node.AsError(err); ok {
		return problem.Problem{Code: refused.Code, Message: sentence(refused), Details: refused.Details}, exitFailed
	}
	return problem.Problem{Code: node.Internal, Message: display.Text(err.Error()), Details: map[string]any{}}, exitFailed
}

// sentence adds what the details know to a refusal of the node.
func sentence(refused *node.Error) string {
	text := display.Text(refused.Message)
	if refused.Code == node.Internal {
		return text + fmt.Sprintf(" (request %v)", refused.Details["requestId"])
	}
	if reasons, ok := refused.Details["reasons"]; ok {
		raw, err := json.Marshal(reasons)
		if err == nil {
			text += " " + string(display.JSON(raw))
		}
	}
	return text
}
