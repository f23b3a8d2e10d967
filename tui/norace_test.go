//go:build !race

package tui

// raceDetector tells that the tests run under it.
const raceDetector = false
