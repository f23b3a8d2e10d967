// Package daemons runs the daemons and timers of one object for as long as the object matches them.
// Between ticks and retries it keeps no goroutine.
package daemons
