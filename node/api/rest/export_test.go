package rest

// Contract is the served document, for the tests against a whole node.
type Contract = contract

// NewContract reads the document.
var NewContract = newContract

// Document is what was served.
func (c *contract) Document() map[string]any { return c.document }
