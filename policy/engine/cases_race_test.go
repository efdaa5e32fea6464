//go:build race || fewcases

package engine

// randomCases is smaller where the race detector makes each of them ten times
// dearer; the full number runs without it.
const randomCases = 4_000

// forecastRounds is how many rule sets Capabilities and Decide are compared under.
const forecastRounds = 10
