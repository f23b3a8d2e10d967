//go:build race

package tui

// raceDetector reports whether the tests run with the race detector.
const raceDetector = true
