package dashboard

import (
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/api/problem"
	"agentlink/node/oauth"
	"agentlink/policy"
)

// arrive opens a page once more from a page of ours. A browser that comes from
// another site keeps the session's cookie back, and the owner would have to sign
// in although they are signed in.
func (v *visit) arrive() error {
	v.c.Set("Refresh", "0; url="+v.c.OriginalURL())
	return v.show(view.Arrive(v.c.OriginalURL()))
}

// fromElsewhere says whether the browser says that another site led here.
func (v *visit) fromElsewhere() bool {
	return v.c.Get("Sec-Fetch-Site") == "cross-site" && v.cookie() == ""
}

// askAuthorize asks the owner whether a program may act as an agent.
func (v *visit) askAuthorize() error {
	query, err := v.query()
	if err != nil {
		return err
	}
	if err := v.d.Clients.Learn(v.ctx(), query.Get("client_id")); err != nil {
		return v.notAsked(err)
	}
	return v.showAuthorize(query, "")
}

// query is the request of the program, as it stands in the address of the page
// and of its forms.
func (v *visit) query() (url.Values, error) {
	query, err := url.ParseQuery(string(v.c.Request().URI().QueryString()))
	if err != nil {
		return nil, node.Errorf(node.BadRequest, "The program's request cannot be read.")
	}
	return query, nil
}

// notAsked says why the owner is not asked, where nothing leads back.
func (v *visit) notAsked(err error) error {
	refused, ok := node.AsError(err)
	if !ok || refused.Code == node.Internal {
		return err
	}
	v.c.Status(problem.Status(refused.Code))
	return v.show(view.Go(view.GoPage{Title: "This program cannot be let in", Text: refused.Message}))
}

func (v *visit) showAuthorize(query url.Values, refused string) error {
	var p view.AuthorizePage
	var wrong *oauth.Problem
	err := v.read(func(tx node.Tx) error {
		request, problem, err := v.d.Clients.Read(tx, v.host(), query)
		if wrong = problem; err != nil || problem != nil {
			return err
		}
		p = view.AuthorizePage{
			Problem: refused, CSRF: v.visitor.CSRF, Program: program(request.Client, request.Redirect),
			Action: oauth.AuthorizePath + "?" + query.Encode(), Refuse: oauth.AuthorizePath + "/refuse?" + query.Encode(),
		}
		p.Agents, err = v.agentChoices(tx)
		return err
	})
	if err != nil {
		return err
	}
	if wrong != nil {
		return v.showWrong(*wrong)
	}
	return v.show(view.Authorize(p))
}

// showWrong never leads to the program by itself: anybody can register an
// address, and would have a link of this node that goes there.
func (v *visit) showWrong(wrong oauth.Problem) error {
	v.c.Status(fiber.StatusBadRequest)
	return v.show(view.Go(view.GoPage{
		Title: "This program cannot be let in", Text: wrong.Message, URL: wrong.Back,
		Program: view.Program{Place: view.Place(oauth.PlaceOf(wrong.Back))},
	}))
}

// toolWords say what the groups of tools are for.
var toolWords = map[policy.ToolGroup]string{
	policy.ToolsRead: "read and wait", policy.ToolsTalk: "connect and chat", policy.ToolsTasks: "work on tasks",
	policy.ToolsActions: "ask for approval and act",
}

// agentChoices are the agents that are enabled. None is chosen where there are
// several: the program must not choose for the owner.
func (v *visit) agentChoices(tx node.Tx) ([]view.AgentChoice, error) {
	agents, err := v.d.Policy.Agents(tx)
	var choices []view.AgentChoice
	for _, a := range agents {
		if a.Status != policy.Active {
			continue
		}
		var tools []string
		for _, group := range a.Tools {
			tools = append(tools, toolWords[group])
		}
		mode := modeWords[a.Mode]
		choices = append(choices, view.AgentChoice{ID: a.ID, Handle: a.Handle, Name: a.Name, Mode: mode.name, Means: mode.means, Tools: strings.Join(tools, ", ")})
	}
	if len(choices) == 1 {
		choices[0].Chosen = true
	}
	return choices, err
}

// authorize lets the program act as the agent that the owner has chosen.
func (v *visit) authorize() error {
	agentID := v.field("agent")
	query, err := v.query()
	if err != nil {
		return err
	}
	if agentID == "" {
		v.c.Status(fiber.StatusBadRequest)
		return v.showAuthorize(query, "Choose the agent that the program is to act as.")
	}
	var handle string
	return v.answerProgram(query, func(tx node.Tx, request oauth.Request) (view.GoPage, error) {
		a, err := v.d.Policy.Agent(tx, agentID)
		if err != nil {
			return view.GoPage{}, err
		}
		handle = a.Handle
		back, err := v.d.Clients.Approve(tx, v.actor(a.ID), request, a.ID)
		return view.GoPage{Title: "Approved", Text: "The program acts as " + handle + " from now on. Your browser goes back to it.", URL: back}, err
	})
}

// refuseClient says no.
func (v *visit) refuseClient() error {
	query, err := v.query()
	if err != nil {
		return err
	}
	return v.answerProgram(query, func(tx node.Tx, request oauth.Request) (view.GoPage, error) {
		back, err := v.d.Clients.Refuse(tx, v.actor(""), request)
		return view.GoPage{Title: "Refused", Text: "The program gets nothing. Your browser goes back to it.", URL: back}, err
	})
}

// answerProgram reads the request again, decides, and leads to the program. It is
// a page that leads there, since a policy of form-action lets no form be sent on
// to another host.
func (v *visit) answerProgram(query url.Values, decide func(tx node.Tx, request oauth.Request) (view.GoPage, error)) error {
	var page view.GoPage
	var wrong *oauth.Problem
	err := v.write(func(tx node.Tx) error {
		request, problem, err := v.d.Clients.Read(tx, v.host(), query)
		if wrong = problem; err != nil || problem != nil {
			return err
		}
		page, err = decide(tx, request)
		page.Program = program(request.Client, request.Redirect)
		return err
	})
	if err != nil {
		return err
	}
	if wrong != nil {
		return v.showWrong(*wrong)
	}
	v.c.Set("Refresh", "0; url="+page.URL)
	return v.show(view.Go(page))
}
