//go:build race

package domain

// slack is how much longer everything may take under the race detector.
const slack = 20
