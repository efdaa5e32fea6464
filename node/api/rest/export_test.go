package rest

// Contract is the served document, for the tests against a whole node.
type Contract = contract

// NewContract reads the document.
var NewContract = newContract
