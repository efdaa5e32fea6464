package dashboard

import (
	"net/url"

	"agentlink/dashboard/view"
	"agentlink/node"
	"agentlink/node/owner"
)

// linkMakePage says what a link for another device does.
func (v *visit) linkMakePage() error {
	frame, err := v.formFrame("Another device")
	if err != nil {
		return err
	}
	return v.show(view.OtherDevice(view.OtherDevicePage{Frame: frame, URL: v.d.Info.URL, Here: onThisMachine(v.d.Info.URL)}))
}

// makeLink shows the link in its answer, the only time.
func (v *visit) makeLink() error {
	page := view.OtherDevicePage{URL: v.d.Info.URL, Here: onThisMachine(v.d.Info.URL)}
	err := v.write(func(tx node.Tx) error {
		link, err := v.d.Entry.OneTimeLink(tx, v.actor(""), owner.LinkSignIn)
		if err != nil {
			return err
		}
		page.Link, page.ExpiresAt = link.URL, link.ExpiresAt
		page.Frame, err = v.frame(tx, "Another device", "/settings")
		return err
	})
	if err != nil {
		return err
	}
	if page.QR, err = drawQR(page.Link); err != nil {
		return node.Wrap(err, "draw a QR code")
	}
	return v.show(view.OtherDevice(page))
}

// onThisMachine says whether an address is reached from this machine alone.
func onThisMachine(address string) bool {
	home, err := url.Parse(address)
	return err == nil && node.IsLoopback(home.Host)
}
