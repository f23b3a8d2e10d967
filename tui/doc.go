// Package tui is the workbench: a terminal application that shows what an operator under
// development does, and why.
//
// It draws the [runner.State] of a session and sends intents to it. It never talks to
// Kubernetes, and the screen never waits: requests run in the background.
//
// This package is the app: the only one that knows the terminal, and which page and dialog
// is on top. Below it are pages, which do not know each other; parts, of which pages are
// made; render, which draws lines of text; and model, which decides what is said. Package
// stream says the same in plain lines.
package tui
