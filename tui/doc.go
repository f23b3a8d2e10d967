// Package tui is the workbench: a terminal application that shows the actions of an operator under development, with
// their reasons.
//
// It draws the [runner.State] of a session and sends intents to it. It never talks to
// Kubernetes, and the screen never waits: requests run in the background.
//
// This package is the app: the only one that knows the terminal, and which page and dialog is on top. Below it are
// pages, which do not know each other; parts, which pages consist of; and render, which draws lines of text. Package
// explain chooses the words. Package stream prints the same information in plain lines.
package tui
