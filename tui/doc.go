// Package tui is the workbench: a terminal application that shows what an operator
// under development does, and why.
//
// It renders the [runner.State] of a session and sends intents to it. It never talks to
// Kubernetes, and never waits for anything: what takes time runs beside the screen.
package tui
