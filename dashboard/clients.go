package dashboard

import (
	"net/url"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/oauth"
)

func (d *Dashboard) clientRoutes() []route {
	return []route{
		get(oauth.AuthorizePath, (*visit).askAuthorize).with(arriving),
		post(oauth.AuthorizePath, (*visit).authorize).with(fresh), post(oauth.AuthorizePath+"/refuse", (*visit).refuseClient),
		post("/agents/:id/clients/:client/revoke", (*visit).revokeClient),
	}
}

// clientsOf lists the programs that act as an agent.
func (v *visit) clientsOf(tx node.Tx, agentID, csrf string) (view.ClientsCard, error) {
	card := view.ClientsCard{CSRF: csrf, Address: oauth.Resource(v.d.Info.URL)}
	connected, err := v.d.Clients.Clients(tx, agentID)
	for _, c := range connected {
		card.Rows = append(card.Rows, view.ClientRow{
			URL: agentURL(agentID) + "/clients/" + c.ID + "/revoke", Program: program(c.Client, c.Client.Redirect()),
			SinceAt: c.CreatedAt, UsedAt: c.LastUsedAt,
		})
	}
	return card, err
}

// program is what is shown of a client whose answers go to an address.
func program(c oauth.Client, redirect string) view.Program {
	p := view.Program{Name: c.Name, Place: view.Place(oauth.PlaceOf(redirect)), Before: !c.ApprovedAt.IsZero()}
	if !c.FetchedAt.IsZero() {
		if u, err := url.Parse(c.ClientID); err == nil {
			p.Known = u.Host
		}
	}
	return p
}

func (v *visit) revokeClient() error {
	id := v.c.Params("id")
	err := v.write(func(tx node.Tx) error {
		_, err := v.d.Clients.Revoke(tx, v.actor(id), id, v.c.Params("client"))
		return err
	})
	if err != nil {
		return err
	}
	return v.goTo(agentURL(id) + "?done=disconnected")
}
