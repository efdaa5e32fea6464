// Package peers puts the node's questions about rules to two engines of others,
// for make bench. It is a module of its own, so that they are no dependencies of
// the node.
package peers
