// Package app puts a node together: it opens what the settings name, wires the
// services, listens, and runs the loops. It is the only package that may import
// everything, and the only one with loops: work in the background is a Step
// elsewhere.
package app
