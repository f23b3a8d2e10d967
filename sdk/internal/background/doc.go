// Package background runs the daemons and timers of one object, for as long as the object is
// there and matches their filters. It decides when to start them, how to end them, and when a
// timer ticks; what a call of a handler is, and how its patch reaches the object, is the host's
// business.
//
// There may be thousands of objects, so a task takes a goroutine only while its handler is
// called: a daemon for as long as it runs, a timer for as long as it ticks. In between, a
// task is a timer of the Go runtime.
package background
