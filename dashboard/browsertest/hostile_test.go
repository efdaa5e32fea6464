package browsertest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"unicode"

	"agentlink/actions"
	"agentlink/coordination"
	"agentlink/node/api/socket"
	"agentlink/node/nodetest"
	"agentlink/policy"
)

// payloads are ways to make a browser run, load or show something. Each has a
// number of its own, by which it is found again.
var payloads = []string{
	`<script>alert(%d)</script>`, `<ScRiPt >alert(%d)</sCrIpT>`, `<script/x>alert(%d)</script>`, `<scr<script>ipt>alert(%d)</script>`,
	`<script src=//elsewhere.example/%d.js></script>`, `<svg/onload=alert(%d)>`, `<svg><script>alert&#40;%d&#41;</script>`,
	`<svg><animate onbegin=alert(%d) attributeName=x dur=1s>`, `<img src=x onerror=alert(%d)>`, `<img/src/onerror=alert(%d)>`,
	`<body onload=alert(%d)>`, `<body onpageshow=alert(%d)>`, `<input autofocus onfocus=alert(%d)>`, `<select autofocus onfocus=alert(%d)>`,
	`<textarea autofocus onfocus=alert(%d)>`, `<details open ontoggle=alert(%d)>`, `<video><source onerror=alert(%d)>`,
	`<audio src=x onerror=alert(%d)>`, `<marquee onstart=alert(%d)>`, `<iframe src=javascript:alert(%d)>`,
	`<iframe srcdoc="<script>alert(%d)</script>">`, `<object data=javascript:alert(%d)>`, `<embed src=javascript:alert(%d)>`,
	`<a href=javascript:alert(%d)>x</a>`, `<a href="java&#9;script:alert(%d)">x</a>`, `<form action=javascript:alert(%d)><button>x`,
	`<button formaction=javascript:alert(%d)>x`, `<meta http-equiv=refresh content="0;url=javascript:alert(%d)">`,
	`<base href=//elsewhere.example/%d/>`, `<link rel=stylesheet href=//elsewhere.example/%d.css>`,
	`<style>@import '//elsewhere.example/%d.css'</style>`, `<p style="background:url(//elsewhere.example/%d)">`,
	`<div hx-get=//elsewhere.example/%d hx-trigger=load>`, `<div hx-on::load=alert(%d) hx-get=/ hx-trigger=load>`,
	`<div sse-connect=//elsewhere.example/%d hx-ext=sse>`, `<time data-when datetime='<b>%d'>`, `<p id=waiting>alert(%d)</p>`,
	`<math><mi xlink:href="javascript:alert(%d)">x`, `<template><script>alert(%d)</script></template>`,
	`<noscript><p title="</noscript><img src=x onerror=alert(%d)>">`, `<!--><img src=x onerror=alert(%d)>-->`,
	`<![CDATA[<script>alert(%d)</script>]]>`, `&lt;script&gt;alert(%d)&lt;/script&gt;`, `&#x3c;script>alert(%d)&#x3c;/script>`,
	`\u003cscript\u003ealert(%d)\u003c/script\u003e`, `%%3Cscript%%3Ealert(%d)%%3C/script%%3E`, `{{constructor.constructor('alert(%d)')()}}`,
	"${alert(%d)}`;alert(1)//", `javascript:alert(%d)`, `data:text/html,<script>alert(%d)</script>`,
}

// contexts are what an attribute, a text or an element is left by.
var contexts = []string{`%s`, `"'>%s`, `</bdi></title></textarea>%s`, `--></script></style>%s`}

// firstMark is the number of the first string; no number of a page is as high.
const firstMark = 7_770_000

// scripts are the strings, each with its number.
func scripts() []string {
	var all []string
	for _, context := range contexts {
		for _, payload := range payloads {
			all = append(all, fmt.Sprintf(context, fmt.Sprintf(payload, firstMark+len(all))))
		}
	}
	return all
}

// invisible are all characters that show nothing or change what stands around
// them, and some that nobody has assigned.
func invisible() []rune {
	var all []rune
	tables := []*unicode.RangeTable{
		unicode.Cc, unicode.Cf, unicode.Zs, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector,
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r != ' ' && unicode.IsOneOf(tables, r) {
			all = append(all, r)
		}
	}
	return append(all, '\u2800', '\ue000', '\uf8ff', '\u0378', '\U000f0000', '\U0010fffd')
}

// liar is an executor whose code is what the test says.
type liar struct{ actions.Executor }

// Execute implements actions.Executor.
func (l liar) Execute(_ context.Context, _ string, parameters json.RawMessage) (actions.Result, error) {
	var p struct{ Venue string }
	err := json.Unmarshal(parameters, &p)
	return actions.Result{Code: p.Venue, Simulated: true, Data: map[string]any{"said": p.Venue}}, err
}

// hostile is a world in which every text of an agent and of a peer attacks.
type hostile struct {
	*world
	strings []string
	runes   []rune
	agents  []*nodetest.Agent // beside scout, for their approvals
}

func newHostile(t testing.TB) *hostile {
	t.Helper()
	h := &hostile{strings: scripts(), runes: invisible()}
	h.world = newWorld(t, func(w *world) {
		w.scoutM, w.junoM = policy.Autonomous, policy.Autonomous
		for i, executor := range w.executors {
			w.executors[i] = liar{executor}
		}
	})
	details := []string{policy.DiscloseAvailability, policy.DisclosePreferences, policy.DiscloseDietary, policy.DiscloseNotes}
	h.allow(h.ada, h.scout, h.juno.Address, details...)
	h.allow(h.ben, h.juno, h.scout.Address, details...)
	h.messages()
	h.tasks()
	h.bookings()
	h.approvals()
	h.requests()
	return h
}

// chunks parts the invisible characters into texts of a length.
func (h *hostile) chunks(size int) []string {
	var all []string
	for rest := h.runes; len(rest) > 0; {
		n := min(size, len(rest))
		all = append(all, string(rest[:n]))
		rest = rest[n:]
	}
	return all
}

func (h *hostile) messages() {
	h.t.Helper()
	for _, text := range append(h.strings, h.chunks(2000)...) {
		h.say(h.scout, h.ofScout.ID, text).Want(http.StatusCreated)
		h.say(h.juno, h.ofJuno.ID, text).Want(http.StatusCreated)
	}
}

// fits gives a text, or less of it where a field takes less.
func fits(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// tasks: each is rejected, answered or cancelled by the other side, for a reason.
func (h *hostile) tasks() {
	h.t.Helper()
	var uids []string
	texts := append(h.strings, h.chunks(110)...)
	for _, text := range texts {
		uids = append(uids, h.start(fits(text, 200), dinner(map[string]any{
			"venue": map[string]any{"name": fits(text, 120), "area": fits(text, 120)}, "cuisine": fits(text, 64),
			"dietaryNotes": []string{fits(text, 120)}, "notes": text,
		})).Want(http.StatusCreated).Text("taskUid"))
	}
	for i, text := range texts {
		arrives(h.juno, h.t, uids[i], "status", "negotiating")
		path := "/v1/agent/tasks/" + uids[i]
		switch i % 3 {
		case 0:
			h.juno.Post(path+"/responses", map[string]any{"version": 1, "decision": "reject", "reason": text}).Want(http.StatusCreated)
		case 1:
			h.juno.Post(path+"/proposals", map[string]any{"fields": dinner(map[string]any{"notes": text + "!"}), "basedOnVersion": 1}).Want(http.StatusCreated)
		default:
			h.juno.Post(path+"/cancel", map[string]any{"reason": text}).Want(http.StatusCreated)
		}
	}
}

// bookings: what an executor calls the code of a booking reaches the other side.
func (h *hostile) bookings() {
	h.t.Helper()
	for i := 0; i < len(h.strings); i += len(h.strings) / 8 {
		venue := fits(h.strings[i], 60)
		uid := h.start("Dinner", dinner(map[string]any{"venue": map[string]any{"name": venue}, "time": "20:00"})).Want(http.StatusCreated).Text("taskUid")
		arrives(h.juno, h.t, uid, "status", "negotiating")
		h.juno.Post("/v1/agent/tasks/"+uid+"/responses", map[string]any{"version": 1, "decision": "accept"}).Want(http.StatusCreated)
		arrives(h.scout, h.t, uid, "status", "agreed")
		h.scout.Post("/v1/agent/approvals", map[string]any{
			"action": "reservation.book", "parameters": booking(uid, map[string]any{"venue": venue}), "onApproval": "run",
		}).Want(http.StatusCreated)
		h.ada.Approve(h.ada.Pending())
		arrives(h.juno, h.t, uid, "confirmation.content.code", venue)
	}
}

// approvals: an agent may have 50 at once. Some are decided, so that their codes
// are shown.
func (h *hostile) approvals() {
	h.t.Helper()
	for i, text := range append(h.strings, h.chunks(100)...) {
		if i%45 == 0 {
			h.agents = append(h.agents, h.ada.CreateAgent(fmt.Sprintf("asker%d", len(h.agents)), policy.Assisted))
		}
		agent := h.agents[len(h.agents)-1]
		agent.Post("/v1/agent/approvals", map[string]any{
			"action": "reservation.book", "parameters": booking("", map[string]any{"venue": fits(text, 120)}), "onApproval": "run",
		}).Want(http.StatusCreated)
		if i%10 == 0 {
			h.ada.Approve(h.ada.Pending())
		}
	}
}

// requests: notes of those who ask to connect. A note takes several strings.
func (h *hostile) requests() {
	h.t.Helper()
	var notes []string
	note := ""
	for _, text := range append(h.strings, h.chunks(400)...) {
		if len([]rune(note+text)) > 490 {
			notes, note = append(notes, note), ""
		}
		note += text + " "
	}
	var strangers []*nodetest.Agent // a node that is looked up too often has to wait
	for i := range 8 {
		strangers = append(strangers, h.ben.CreateAgent(fmt.Sprintf("stranger%d", i), policy.Autonomous))
	}
	for i, note := range append(notes, note) {
		agent := strangers[i%len(strangers)]
		nodetest.Owner[socket.Sent](h.ben, socket.ConnectionRequest, socket.RequestConnection{Agent: agent.ID, Address: h.scout.Address, Note: strings.TrimSpace(note)})
		asked := h.ada.ConnectionWith(agent.Address, coordination.PendingIncoming)
		nodetest.Owner[socket.Connection](h.ada, socket.ConnectionReject, socket.ByID{ID: asked.ID}) // only so many may wait
		h.ben.Eventually("the answer arrives", func() bool {
			return nodetest.Owner[[]socket.Connection](h.ben, socket.ConnectionList, socket.ListOf{Agent: agent.ID, Limit: 1})[0].Status == coordination.ConnRejected
		})
	}
}
