package socket

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"agentlink/node"
	"agentlink/node/api/problem"
)

// ErrNotRunning means that nobody answers at the socket.
var ErrNotRunning = errors.New("the node is not running")

// Client calls the owner's door.
type Client struct {
	http http.Client
}

// Dial prepares a client for a socket; it connects with the first call.
func Dial(path string) *Client {
	var dialer net.Dialer
	return &Client{http: http.Client{
		Timeout: 2 * time.Minute,
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, "unix", path)
			},
		},
	}}
}

// Call sends one command. password "" sends none, request nil is an empty one. A refusal is a *node.Error; an
// error that wraps ErrNotRunning means that there was nobody to ask.
func (c *Client) Call(ctx context.Context, command, password string, request, response any) error {
	answer, err := c.post(ctx, c.http, command, password, request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read the node's answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return refusal(content)
	}
	if err := json.Unmarshal(content, response); err != nil {
		return fmt.Errorf("read the node's answer: %w", err)
	}
	return nil
}

// Stream sends a command whose answer is read as it comes, for as long as that
// takes. Whoever gets it closes it; a body that was cut off ends with an error.
func (c *Client) Stream(ctx context.Context, command, password string) (io.ReadCloser, error) {
	patient := c.http
	patient.Timeout = 0
	answer, err := c.post(ctx, patient, command, password, nil)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, fmt.Errorf("read the node's answer: %w", err)
	}
	return nil, refusal(content)
}

func (c *Client) post(ctx context.Context, client http.Client, command, password string, request any) (*http.Response, error) {
	if request == nil {
		request = none{}
	}
	raw, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write the command: %w", err)
	}
	body, err := json.Marshal(call{Password: password, Request: raw})
	if err != nil {
		return nil, fmt.Errorf("write the command: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://owner/"+command, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("write the command: %w", err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return nil, notRunning(err)
	}
	return answer, nil
}

func notRunning(err error) error {
	var dialing *net.OpError
	if errors.As(err, &dialing) && dialing.Op == "dial" {
		return fmt.Errorf("%w: %w", ErrNotRunning, err)
	}
	return err
}

func refusal(content []byte) error {
	var body problem.Body
	if err := json.Unmarshal(content, &body); err != nil || body.Error.Code == "" {
		return errors.New("the node's answer is not readable; it may be of another version")
	}
	reason, _ := body.Error.Details["reason"].(string)
	return &node.Error{
		Code: body.Error.Code, Reason: node.Reason(reason), Message: body.Error.Message, Details: body.Error.Details,
	}
}
