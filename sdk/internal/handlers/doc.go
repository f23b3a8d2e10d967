// Package handlers holds registered handlers and the pure decisions about them: which cause an event
// amounts to, which handlers match it, in which order they are called, and what an attempt came to.
package handlers
