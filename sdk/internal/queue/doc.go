// Package queue gives each object a worker while there is work for it. Events of one object
// are processed one batch at a time, different objects in parallel.
package queue
