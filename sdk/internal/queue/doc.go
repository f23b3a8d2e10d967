// Package queue gives each object a worker while the object has events. Events of one object are processed one batch at
// a time, different objects in parallel.
package queue
