// Package queue gives each object a worker while there is something to do for it: events of one object
// are processed one batch at a time, different objects in parallel.
package queue
