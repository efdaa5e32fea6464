package rest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agentlink/node"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// foreign is a node on which one agent has a thing of every kind, and another
// agent knows all their ids.
type foreign struct {
	*pair
	stranger *nodetest.Agent
	ids      map[string]string // by what they name
	unknown  node.IDs
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	f := &foreign{pair: newPair(t), unknown: node.RandomIDs{}}
	uid := f.dinner()
	nodetest.Eventually(t, "juno has the task", func() bool { return f.juno.Get("/v1/agent/tasks/"+uid).Status == http.StatusOK })
	f.do(f.juno, "POST", "/v1/agent/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}, nil).Want(http.StatusCreated)
	nodetest.Eventually(t, "scout's copy is agreed", func() bool { return f.scout.Get("/v1/agent/tasks/"+uid).Text("status") == "agreed" })
	f.ids = map[string]string{"connection": f.ofScout.ID, "task": uid, "approval": f.ask(uid), "run": f.book()}
	f.stranger = f.node.CreateAgent("stranger", policy.Autonomous)
	return f
}

const booking = `{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2%s}`

// ask asks for an approval, which waits.
func (f *foreign) ask(uid string) (approval string) {
	body := fmt.Sprintf(`{"action":"reservation.book","taskUid":%q,"parameters":%s}`, uid, fmt.Sprintf(booking, ""))
	return f.do(f.scout, "POST", "/v1/agent/approvals", json.RawMessage(body), nil).Want(http.StatusCreated).Text("approvalId")
}

// book books without a task, approved.
func (f *foreign) book() (run string) {
	body := fmt.Sprintf(`{"action":"reservation.book","parameters":%s}`, fmt.Sprintf(booking, `,"notes":"By the window"`))
	id := f.do(f.scout, "POST", "/v1/agent/approvals", json.RawMessage(body), nil).Want(http.StatusCreated).Text("approvalId")
	f.node.Approve(f.node.Pending())
	return f.do(f.scout, "POST", "/v1/agent/actions", map[string]any{"approvalId": id}, nil).Want(http.StatusCreated).Text("runId")
}

// knocks are the requests that take an id, by route and name of the parameter;
// {} stands for the id. kind says whose id it is in foreign.ids.
var knocks = map[string]struct{ kind, path, body string }{
	"GET /v1/agent/capabilities connection":    {"connection", "?connection={}", ""},
	"GET /v1/agent/messages connection":        {"connection", "?connection={}", ""},
	"GET /v1/agent/tasks connection":           {"connection", "?connection={}&status=agreed", ""},
	"GET /v1/agent/connections/{id} id":        {"connection", "", ""},
	"GET /v1/agent/tasks/{uid} uid":            {"task", "", ""},
	"GET /v1/agent/approvals/{id} id":          {"approval", "", ""},
	"GET /v1/agent/actions/{runId} runId":      {"run", "", ""},
	"POST /v1/agent/messages connectionId":     {"connection", "", `{"connectionId":"{}","text":"Good evening"}`},
	"POST /v1/agent/tasks connectionId":        {"connection", "", `{"connectionId":"{}","type":"dinner.coordination","title":"Dinner"}`},
	"POST /v1/agent/tasks/{uid}/proposals uid": {"task", "", `{"fields":{"date":"2031-05-09","time":"19:30","timezone":"Europe/Rome"},"basedOnVersion":1}`},
	"POST /v1/agent/tasks/{uid}/responses uid": {"task", "", `{"version":1,"decision":"accept"}`},
	"POST /v1/agent/tasks/{uid}/cancel uid":    {"task", "", `{"reason":"rain"}`},
	"POST /v1/agent/approvals taskUid":         {"task", "", `{"action":"reservation.book","taskUid":"{}","parameters":` + bookingAlone + `}`},
	"POST /v1/agent/actions approvalId":        {"approval", "", `{"approvalId":"{}"}`},

	// What the document cannot know of: a further way to name the same thing.
	"POST /v1/agent/approvals parameters":              {"task", "", `{"action":"reservation.book","parameters":` + bookingOfTask + `}`},
	"POST /v1/agent/actions parameters":                {"task", "", `{"action":"reservation.book","parameters":` + bookingOfTask + `}`},
	"POST /v1/agent/actions approvalId and parameters": {"approval", "", `{"approvalId":"{}","action":"reservation.book","parameters":` + bookingAlone + `}`},
	"POST /v1/agent/tasks with a proposal":             {"connection", "", `{"connectionId":"{}","type":"dinner.coordination","title":"Dinner","proposal":{"date":"2031-05-09","time":"19:30","timezone":"Europe/Rome"}}`},
	"GET /v1/agent/tasks/{uid} waiting":                {"task", "?wait=0", ""},
	"GET /v1/agent/approvals/{id} waiting":             {"approval", "?wait=0", ""},
}

const (
	bookingAlone  = `{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2}`
	bookingOfTask = `{"venue":"Da Piero","date":"2031-05-09","time":"19:30","partySize":2,"taskUid":"{}"}`
)

// knock sends one of knocks as the stranger.
func (f *foreign) knock(name, id string) nodetest.Answer {
	f.t.Helper()
	method, rest, _ := strings.Cut(name, " ")
	path, _, _ := strings.Cut(rest, " ")
	k := knocks[name]
	for _, placeholder := range []string{"{id}", "{uid}", "{runId}"} {
		path = strings.ReplaceAll(path, placeholder, id)
	}
	var body any
	if k.body != "" {
		body = json.RawMessage(strings.ReplaceAll(k.body, "{}", id))
	}
	return f.stranger.Do(method, path+strings.ReplaceAll(k.path, "{}", id), body, nil)
}

// TestForeignIDsAreUnknown (S6, S20): whatever takes an id answers the same of
// another agent's thing as of one that nobody has, in status, headers and body.
func TestForeignIDsAreUnknown(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	for _, want := range idsOfDocument(t, f.contract.Document()) {
		if _, ok := knocks[want]; !ok {
			t.Errorf("the document has an id that nobody tries: %s", want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(knocks)) {
		kind := knocks[name].kind
		for range 3 { // what is remembered of an earlier question tells nothing either
			missing, other := f.knock(name, f.unknown.New()), f.knock(name, f.ids[kind])
			if missing.Status != http.StatusNotFound || other.Status != missing.Status {
				t.Errorf("%s: %d %s, for an unknown id %d %s", name, other.Status, other.Body, missing.Status, missing.Body)
			}
			if diff := cmp.Diff(string(missing.Body), string(other.Body)); diff != "" {
				t.Errorf("%s (-unknown +foreign):\n%s", name, diff)
			}
			if diff := cmp.Diff(headersOf(missing), headersOf(other)); diff != "" {
				t.Errorf("%s (-unknown +foreign):\n%s", name, diff)
			}
		}
	}
	for kind, path := range map[string]string{"connection": "/connections/", "task": "/tasks/", "approval": "/approvals/", "run": "/actions/"} {
		f.scout.Get("/v1/agent" + path + f.ids[kind]).Want(http.StatusOK)
	}
}

func headersOf(a nodetest.Answer) http.Header {
	h := a.Header.Clone()
	h.Del("Date")
	h.Del("X-Request-Id")
	return h
}

// idsOfDocument are all places of the served document that take an id: "GET /v1/agent/tasks/{uid} uid".
func idsOfDocument(t *testing.T, document map[string]any) (places []string) {
	t.Helper()
	paths := document["paths"].(map[string]any)
	for path, item := range paths {
		for method, operation := range item.(map[string]any) {
			route := strings.ToUpper(method) + " " + path
			parameters, _ := operation.(map[string]any)["parameters"].([]any)
			for _, entry := range parameters {
				p := entry.(map[string]any)
				if isID(p["schema"]) {
					places = append(places, route+" "+p["name"].(string))
				}
			}
			for name, schema := range propertiesOf(document, operation.(map[string]any)) {
				if isID(schema) {
					places = append(places, route+" "+name)
				}
			}
		}
	}
	if len(places) < 14 {
		t.Errorf("the document has only %d ids: %v", len(places), places)
	}
	return places
}

func isID(schema any) bool {
	s, _ := schema.(map[string]any)
	pattern, _ := s["pattern"].(string)
	return strings.Contains(pattern, "[0-9a-f]{12}")
}

// propertiesOf are the members of a body that an operation takes.
func propertiesOf(document, operation map[string]any) map[string]any {
	body, _ := operation["requestBody"].(map[string]any)
	content, _ := body["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	schema, _ := media["schema"].(map[string]any)
	if reference, ok := schema["$ref"].(string); ok {
		schema = document["components"].(map[string]any)["schemas"].(map[string]any)[strings.TrimPrefix(reference, "#/components/schemas/")].(map[string]any)
	}
	properties, _ := schema["properties"].(map[string]any)
	return properties
}

const (
	timedPairs = 1000
	// maxGap is the requirement: what a network between cannot be told from.
	maxGap = time.Millisecond
)

// TestForeignIDsTakeAsLong (S6): a thing of another agent is not told from one
// that nobody has by the time that the answer takes, in 1,000 pairs of each
// request, whose two are sent in random order, so that the machine's noise falls
// on both.
func TestForeignIDsTakeAsLong(t *testing.T) {
	t.Parallel()
	f := newForeign(t)
	clock, order := node.SystemClock{}, rand.New(rand.NewPCG(7, 7))
	for _, name := range slices.Sorted(maps.Keys(knocks)) {
		var spent [2][]time.Duration // foreign, unknown
		for range timedPairs {
			ids := [2]string{f.ids[knocks[name].kind], f.unknown.New()}
			first := order.IntN(2)
			for _, which := range []int{first, 1 - first} {
				begin := clock.Now()
				if status := f.knock(name, ids[which]).Status; status != http.StatusNotFound {
					t.Fatalf("%s: status %d", name, status)
				}
				spent[which] = append(spent[which], clock.Now().Sub(begin))
			}
		}
		other, missing := median(spent[0]), median(spent[1])
		t.Logf("%-55s foreign %v, unknown %v", name, other, missing)
		if gap := (other - missing).Abs(); gap >= maxGap {
			t.Errorf("%s: the medians are %v apart", name, gap)
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
