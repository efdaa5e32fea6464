package socket

import (
	"time"

	"agentlink/node"
	"agentlink/policy"
)

// The commands about the owner's own rules.
const (
	OverlayShow    = "overlay.show"    // ShowOverlay → Overlay
	OverlayHistory = "overlay.history" // PastOverlays → []Overlay, without their texts
	OverlayCheck   = "overlay.check"   // CheckOverlay → OverlayForecast
	OverlaySet     = "overlay.set"     // SetOverlay → Overlay
	OverlayRemove  = "overlay.remove"  // RemoveOverlay → Overlay
)

// Overlay is a version of the owner's own rules.
type Overlay struct {
	Number    int64     `json:"number"`            // 0: there never were any
	Version   string    `json:"version,omitempty"` // SHA-256 of the text; "" where the rules were removed
	Source    string    `json:"source,omitempty"`
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// ShowOverlay names a version; 0 is the one that holds.
type ShowOverlay struct {
	Number int64 `json:"number,omitempty"`
}

// PastOverlays asks for the versions below a number; 0 begins with the newest.
type PastOverlays struct {
	Below int64 `json:"below,omitempty"`
}

// CheckOverlay asks what a text would do; "" stands for no rules of one's own.
type CheckOverlay struct {
	Source string `json:"source,omitempty"`
}

// OverlayForecast tells what is wrong with a text, or else what would have become
// of the decisions of the last 30 days.
type OverlayForecast struct {
	Number   int64            `json:"number"` // of the rules that hold now
	Problems []policy.Problem `json:"problems,omitempty"`
	Agents   []AgentForecast  `json:"agents,omitempty"`
}

// AgentForecast is what would have become of an agent's decisions.
type AgentForecast struct {
	Agent  string   `json:"agent"` // handle
	Looked int      `json:"looked"`
	More   bool     `json:"more,omitempty"` // there are older ones, which were not looked at
	Turned []Turned `json:"turned,omitempty"`
}

// SetOverlay puts a text in the place of the rules with the number Seen.
type SetOverlay struct {
	Source string `json:"source"`
	Seen   int64  `json:"seen"`
}

// RemoveOverlay removes the rules with the number Seen.
type RemoveOverlay struct {
	Seen int64 `json:"seen"`
}

// listedOverlays is how many versions a list has at most.
const listedOverlays = 50

func (s *Server) overlayCommands() {
	reads(s, OverlayShow, s.showOverlay)
	reads(s, OverlayHistory, s.pastOverlays)
	reads(s, OverlayCheck, s.checkOverlay)
	decides(s, OverlaySet, s.setOverlay)
	decides(s, OverlayRemove, s.removeOverlay)
}

func (s *Server) showOverlay(tx node.Tx, r ShowOverlay) (Overlay, error) {
	actor, err := s.actor(tx.Context(), tx)
	if err != nil {
		return Overlay{}, err
	}
	if r.Number == 0 {
		overlay, err := s.Policy.Overlay(tx, actor)
		return overlayView(overlay), err
	}
	list, err := s.Policy.Overlays(tx, actor, r.Number+1, 1)
	if err == nil && (len(list) == 0 || list[0].Number != r.Number) {
		err = node.Errorf(node.NotFound, "There is no version with this number. See: agentlink overlay history")
	}
	if err != nil {
		return Overlay{}, err
	}
	return overlayView(list[0]), nil
}

func (s *Server) pastOverlays(tx node.Tx, r PastOverlays) ([]Overlay, error) {
	actor, err := s.actor(tx.Context(), tx)
	if err != nil {
		return nil, err
	}
	list, err := s.Policy.Overlays(tx, actor, r.Below, listedOverlays)
	views := make([]Overlay, len(list))
	for i, overlay := range list {
		views[i] = overlayView(overlay)
		views[i].Source = ""
	}
	return views, err
}

func (s *Server) checkOverlay(tx node.Tx, r CheckOverlay) (OverlayForecast, error) {
	actor, err := s.actor(tx.Context(), tx)
	if err != nil {
		return OverlayForecast{}, err
	}
	forecast, err := s.Policy.ForeseeOverlay(tx, actor, r.Source)
	view := OverlayForecast{Number: forecast.Now.Number, Problems: forecast.Problems}
	for _, of := range forecast.Agents {
		agent := AgentForecast{Agent: of.Agent.Handle, Looked: of.Past.Looked, More: of.Past.More}
		for _, turned := range of.Past.Turned {
			agent.Turned = append(agent.Turned, Turned{
				ID: turned.ID, At: turned.At, Contact: turned.Facts.Contact, TaskUID: turned.TaskUID,
				Capabilities: turned.Facts.Capabilities, Was: turned.Before, Would: turned.After,
			})
		}
		view.Agents = append(view.Agents, agent)
	}
	return view, err
}

func (s *Server) setOverlay(tx node.Tx, actor node.Actor, r SetOverlay) (Overlay, error) {
	if r.Source == "" {
		return Overlay{}, node.BadFields(node.Field{Field: "source", Problem: "must not be empty: overlay.remove removes the rules"})
	}
	overlay, err := s.Policy.SetOverlay(tx, actor, r.Source, r.Seen)
	return overlayView(overlay), err
}

func (s *Server) removeOverlay(tx node.Tx, actor node.Actor, r RemoveOverlay) (Overlay, error) {
	overlay, err := s.Policy.SetOverlay(tx, actor, "", r.Seen)
	return overlayView(overlay), err
}

func overlayView(o policy.Overlay) Overlay {
	return Overlay{Number: o.Number, Version: o.Version, Source: o.Source, CreatedAt: o.CreatedAt}
}
