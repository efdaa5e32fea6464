package oauth

import (
	"context"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"agentlink/node"
	"agentlink/node/audit"
)

// documentTime is how long a document counts without being read again.
const documentTime = 10 * time.Minute

// maxClientID bounds what is looked up.
const maxClientID = 500

// isDocument says whether a client id is the URL of a document.
func isDocument(clientID string) bool { return strings.HasPrefix(clientID, "https://") }

// checkDocumentURL keeps to URLs that name one document of somebody else's:
// https, a name and a path, nothing that reads in two ways.
func checkDocumentURL(text string) error {
	u, err := url.Parse(text)
	bad := node.Errorf(node.BadRequest, "The program names itself by an address that cannot be used: it must be https, with a host's name and a path.")
	switch {
	case err != nil || len(text) > maxClientID || !printable(text):
		return bad
	case !isDocument(text) || u.User != nil || u.Opaque != "" || strings.ContainsAny(text, "#?"):
		return bad
	case u.Path == "" || u.Path == "/" || u.EscapedPath() != u.Path || strings.Contains(u.Path+"/", "/./") || strings.Contains(u.Path+"/", "/../"):
		return bad
	case !node.ValidHost(u.Host) || node.IsLoopback(u.Host) || isAddress(u.Hostname()):
		return bad
	}
	return nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// Learn reads the document of a client whose id is a URL, where it is not known or
// was read a while ago. It fetches, and so is called for the owner alone, outside
// of a transaction. Codes: bad_request, unavailable.
func (s *Service) Learn(ctx context.Context, clientID string) error {
	if !isDocument(clientID) {
		return nil
	}
	if err := checkDocumentURL(clientID); err != nil {
		return err
	}
	fresh := false
	err := s.DB.View(ctx, func(tx node.Tx) error {
		known, err := s.Store.OAuthClient(tx, clientID)
		fresh = err == nil && tx.Now().Before(known.FetchedAt.Add(documentTime))
		return except(node.NotFound, err)
	})
	if err != nil || fresh {
		return err
	}
	document, err := s.Fetch(ctx, clientID)
	if err != nil {
		return &node.Error{Code: node.Unavailable, Message: "The address by which the program names itself could not be read. Try again later.", Err: err}
	}
	m, err := readDocument(clientID, document)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx node.Tx) error { return s.keepDocument(tx, clientID, m) })
}

// readDocument reads a document that was fetched from this address.
func readDocument(clientID string, document []byte) (metadata, error) {
	m, err := readMetadata(document)
	switch {
	case err != nil:
		return m, node.Errorf(node.BadRequest, "The document by which the program names itself is not valid: %s", messageOf(err))
	case m.ClientID != clientID:
		return m, node.Errorf(node.BadRequest, "The document by which the program names itself is that of another program.")
	case m.Method != "" && m.Method != MethodNone:
		return m, node.Errorf(node.BadRequest, "The program wants to show who it is in a way that this node does not take.")
	}
	return m, nil
}

func messageOf(err error) string {
	if e, ok := node.AsError(err); ok {
		return e.Message
	}
	return ""
}

func except(code node.Code, err error) error {
	if err != nil && node.CodeOf(err) == code {
		return nil
	}
	return err
}

func (s *Service) keepDocument(tx node.Tx, clientID string, m metadata) error {
	c := Client{
		ID: s.IDs.New(), ClientID: clientID, Name: m.Name, RedirectURIs: m.RedirectURIs, Method: MethodNone,
		CreatedAt: tx.Now(), FetchedAt: tx.Now(),
	}
	inserted, err := s.Store.InsertOAuthClient(tx, c)
	if err != nil {
		return err
	}
	if !inserted {
		return s.Store.SetOAuthClient(tx, c)
	}
	return s.Audit.Append(tx, audit.Event{
		Type: audit.ClientRegistered, Actor: node.Actor{Kind: node.ActorNode, Via: "document"}, Subject: c.ID,
		Data: map[string]any{"client": c.Name},
	})
}
