// Package delivery carries envelopes to peers. It holds the outbox's worker, the
// one HTTP client that talks to other nodes, with a dialer that opens no
// connection to an address that is not public, and the directory that reads the
// cards of nodes.
//
// What comes in is node/api/peer's. What an envelope means is coordination's.
package delivery
