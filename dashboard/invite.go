package dashboard

import (
	"fmt"
	"strings"

	"github.com/boombuler/barcode/qr"

	"agentlink/coordination"
	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/policy"
)

// choices are the agents that a form can offer.
func (d *Dashboard) choices(tx node.Tx) (list []view.Choice, err error) {
	agents, err := d.Policy.Agents(tx)
	for _, agent := range agents {
		if agent.Status == policy.Active {
			list = append(list, view.Choice{ID: agent.ID, Name: agent.Handle})
		}
	}
	return list, err
}

func (v *visit) inviteForm() error {
	page := view.InvitePage{Agent: v.c.Query("agent")}
	err := v.read(func(tx node.Tx) (err error) {
		if page.Frame, err = v.frame(tx, "Invite", "/contacts"); err != nil {
			return err
		}
		page.Agents, err = v.d.choices(tx)
		return err
	})
	if err != nil {
		return err
	}
	return v.show(view.Invite(page))
}

// invite makes an invitation and shows it in its answer, the only time.
func (v *visit) invite() error {
	var page view.InvitePage
	err := v.write(func(tx node.Tx) (err error) {
		var made coordination.Invitation
		agentID := v.c.FormValue("agent")
		if made, page.Link, err = v.d.Coordination.Invite(tx, v.actor(agentID), agentID); err != nil {
			return err
		}
		names, err := v.d.agentNames(tx)
		if err != nil {
			return err
		}
		page.Agent, page.ExpiresAt = names[agentID], made.ExpiresAt
		page.Frame, err = v.frame(tx, "Invite", "/contacts")
		return err
	})
	if err != nil {
		return err
	}
	if page.QR, err = drawQR(page.Link); err != nil {
		return node.Wrap(err, "draw a QR code")
	}
	return v.show(view.Invite(page))
}

// quiet is the margin that a reader of QR codes needs, in modules.
const quiet = 4

// drawQR draws a text as a QR code, one line for each run of dark modules.
func drawQR(text string) (view.QR, error) {
	code, err := qr.Encode(text, qr.M, qr.Unicode)
	if err != nil {
		return view.QR{}, err
	}
	size := code.Bounds().Dx()
	dark := func(x, y int) bool {
		if x >= size {
			return false
		}
		shade, _, _, _ := code.At(x, y).RGBA()
		return shade == 0
	}
	var path strings.Builder
	for y := range size {
		for x := 0; x < size; x++ {
			start := x
			for dark(x, y) {
				x++
			}
			if x > start {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", start+quiet, y+quiet, x-start, x-start)
			}
		}
	}
	return view.QR{Size: size + 2*quiet, Path: path.String()}, nil
}
