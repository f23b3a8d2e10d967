//go:build race

package tui

// raceFactor is how much slower everything may be under the race detector.
const raceFactor = 10
