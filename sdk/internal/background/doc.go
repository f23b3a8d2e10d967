// Package background runs the daemons and timers of one object: goroutines that live as
// long as the object is there and matches their filters. It decides when to start them, how
// to end them, and when a timer ticks; what a call of a handler is, and how its patch
// reaches the object, is the host's business.
package background
