// Package hostile holds no code, only tests of a node among peers and networks
// that mean harm or are broken: what each of them does is told in
// node/docs/hostile.md.
package hostile
