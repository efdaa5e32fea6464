// Package durability holds tests that take things away from real nodes at the
// worst moment: single calls of the database, the process, the whole server of
// databases, the disk. docs/durability.md lists what is taken away and when.
package durability
