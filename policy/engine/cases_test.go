//go:build !race && !fewcases

package engine

// randomCases is how many requests the oracle is asked.
const randomCases = 100_000

// forecastRounds is how many rule sets Capabilities and Decide are compared under.
const forecastRounds = 2_000 // of some 54 requests each: 100,000 cases (S23)
