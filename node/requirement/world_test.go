// Package requirement plays what is required of a node on two real ones: each
// owner acts through the socket, each agent through the REST API, and envelopes
// go over loopback. What a single rule says is tested where the rule stands;
// here it is what people and agents see of it. node/docs/coverage.md names these
// tests beside the statements.
package requirement

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentlink/coordination"
	"agentlink/node"
	"agentlink/node/api/socket"
	"agentlink/node/audit"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// body is a JSON object.
type body = map[string]any

// pair is two owners' nodes whose agents are connected: Ada's scout asked, Ben's
// juno was asked.
type pair struct {
	*testing.T
	clock           *node.FakeClock
	ada, ben        *nodetest.Node
	scout, juno     *nodetest.Agent
	ofScout, ofJuno socket.Connection
}

// unconnected is two nodes that do not know each other yet.
func unconnected(t *testing.T, scout, juno policy.Mode) *pair {
	t.Helper()
	t.Parallel()
	p := &pair{T: t, clock: node.NewFakeClock(time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC))}
	p.ada = nodetest.Start(t, nodetest.Options{Clock: p.clock})
	p.ben = nodetest.Start(t, nodetest.Options{Clock: p.clock, Owner: "Ben"})
	p.scout, p.juno = p.ada.CreateAgent("scout", scout), p.ben.CreateAgent("juno", juno)
	return p
}

func connected(t *testing.T, scout, juno policy.Mode) *pair {
	t.Helper()
	p := unconnected(t, scout, juno)
	p.ofScout, p.ofJuno = nodetest.Connect(p.scout, p.juno)
	return p
}

// open lets both agents share when they have time, which every proposal does.
func open(t *testing.T, scout, juno policy.Mode) *pair {
	t.Helper()
	p := connected(t, scout, juno)
	p.ada.Grant(p.scout, p.juno.Address, "disclose.availability", policy.Allow)
	p.ben.Grant(p.juno, p.scout.Address, "disclose.availability", policy.Allow)
	return p
}

// terms are the fields of a proposal that names nothing but a time and a place.
func terms(changes body) body {
	fields := body{
		"date": "2031-05-09", "time": "19:30", "timezone": "Europe/Rome", "partySize": 2,
		"venue": body{"name": "Da Piero"},
	}
	for name, value := range changes {
		fields[name] = value
	}
	return fields
}

// booking are the parameters that terms come to.
func booking(uid string) body {
	return body{"venue": "Da Piero", "date": "2031-05-09", "time": "19:30", "partySize": 2, "taskUid": uid}
}

func (p *pair) start(proposal body) nodetest.Answer {
	p.Helper()
	request := body{"connectionId": p.ofScout.ID, "type": "dinner.coordination", "title": "Dinner"}
	if proposal != nil {
		request["proposal"] = proposal
	}
	return p.scout.Post("/v1/agent/tasks", request)
}

// dinner starts a task with a first proposal that has arrived.
func (p *pair) dinner() (uid string) {
	p.Helper()
	uid = p.start(terms(nil)).Want(http.StatusCreated).Text("taskUid")
	p.reaches(p.juno, uid, "negotiating")
	return uid
}

// agreedDinner is a task whose acceptance has arrived too.
func (p *pair) agreedDinner() (uid string) {
	p.Helper()
	uid = p.dinner()
	p.juno.Post("/v1/agent/tasks/"+uid+"/responses", body{"version": 1, "decision": "accept"}).Want(http.StatusCreated)
	p.reaches(p.scout, uid, "agreed")
	return uid
}

func (p *pair) propose(agent *nodetest.Agent, uid string, fields body) nodetest.Answer {
	p.Helper()
	return agent.Post("/v1/agent/tasks/"+uid+"/proposals", body{"fields": fields})
}

func (p *pair) respond(agent *nodetest.Agent, uid string, version int, decision string) nodetest.Answer {
	p.Helper()
	return agent.Post("/v1/agent/tasks/"+uid+"/responses", body{"version": version, "decision": decision})
}

// reaches waits for an agent's copy of a task to have a status.
func (p *pair) reaches(agent *nodetest.Agent, uid, status string) {
	p.Helper()
	nodetest.Eventually(p, agent.Handle+"'s copy is "+status, func() bool {
		return p.get(agent, "/v1/agent/tasks/"+uid).Text("status") == status
	})
}

// proposals are the statuses of a copy's proposals, by version.
func (p *pair) proposals(agent *nodetest.Agent, uid string) []string {
	p.Helper()
	var task struct {
		Proposals []struct {
			Version int
			Status  string
		}
	}
	p.get(agent, "/v1/agent/tasks/"+uid).Want(http.StatusOK).Into(&task)
	var statuses []string
	for i, proposal := range task.Proposals {
		if proposal.Version != i+1 {
			p.Errorf("proposal %d has version %d", i+1, proposal.Version)
		}
		statuses = append(statuses, proposal.Status)
	}
	return statuses
}

// get reads with a fresh token: the clock of a test may have jumped.
func (p *pair) get(agent *nodetest.Agent, path string) nodetest.Answer {
	p.Helper()
	return agent.Do(http.MethodGet, path, nil, map[string]string{"Authorization": "Bearer " + agent.Token()})
}

// messageStatus is the status of one of an agent's chat messages.
func (p *pair) messageStatus(agent *nodetest.Agent, text string) (status, code string) {
	p.Helper()
	for _, m := range p.chat(agent) {
		if m.Content.Text == text {
			return m.Status, m.Code
		}
	}
	return "", ""
}

type chatMessage struct {
	Status, Code, ApprovalID string
	Content                  struct{ Text string }
}

func (p *pair) chat(agent *nodetest.Agent) []chatMessage {
	p.Helper()
	var list struct{ Items []chatMessage }
	p.get(agent, "/v1/agent/messages").Want(http.StatusOK).Into(&list)
	return list.Items
}

// refused wants a refusal by the policy that names exactly these capabilities.
func (p *pair) refused(answer nodetest.Answer, denied ...string) {
	p.Helper()
	answer.Want(http.StatusForbidden)
	var refusal struct {
		Error struct {
			Code    string
			Details struct{ Denied []string }
		}
	}
	answer.Into(&refusal)
	slices.Sort(refusal.Error.Details.Denied)
	slices.Sort(denied)
	if refusal.Error.Code != "policy_denied" || !slices.Equal(refusal.Error.Details.Denied, denied) {
		p.Errorf("refused with %s, want policy_denied of %v", answer.Body, denied)
	}
}

// conflict wants a conflict with this reason.
func (p *pair) conflict(answer nodetest.Answer, reason string) {
	p.Helper()
	if answer.Want(http.StatusConflict); answer.Text("error.details.reason") != reason {
		p.Errorf("conflict %s, want the reason %s", answer.Body, reason)
	}
}

// audited counts the rows of a type in a node's audit log.
func (p *pair) audited(n *nodetest.Node, types ...audit.Type) []socket.Event {
	p.Helper()
	return nodetest.Owner[[]socket.Event](n, socket.AuditTail, socket.Tail{Types: types, Limit: 100})
}

// approval is how an approval stands.
func (p *pair) approval(n *nodetest.Node, id string) socket.Approval {
	p.Helper()
	return nodetest.Owner[socket.Approval](n, socket.ApprovalShow, socket.ByID{ID: id})
}

func (p *pair) connection(n *nodetest.Node, id string) coordination.ConnectionStatus {
	p.Helper()
	return nodetest.Owner[socket.Connection](n, socket.ConnectionShow, socket.ByID{ID: id}).Status
}

// bare fails where a node's files show one of these texts.
func (p *pair) bare(n *nodetest.Node, texts ...string) {
	p.Helper()
	files, err := filepath.Glob(filepath.Join(n.DataDir(), "*"))
	if err != nil || len(files) == 0 {
		p.Fatalf("no files in %s: %v", n.DataDir(), err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				p.Errorf("%s shows %q", filepath.Base(file), text)
			}
		}
	}
}

func contains(raw []byte, texts ...string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(string(raw), text) })
}
