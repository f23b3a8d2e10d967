// Package queue gives each object a worker while something is to be done for it. Events of one object
// are processed one batch at a time, different objects in parallel.
package queue
