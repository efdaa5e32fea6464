// Package node holds the words of the trade that every other package uses:
// errors and their codes, ids, the clock, the transaction, strict and canonical
// JSON, actors and addresses.
//
// It is the lowest package of the tree and imports nothing of ours. Its folder
// also holds the highest one, cmd/agentlink; that is only a matter of folders.
package node
