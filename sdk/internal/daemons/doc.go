// Package daemons runs the daemons and timers of one object for as long as the object matches their filters. Between ticks
// and retries, a task has no goroutine.
package daemons
