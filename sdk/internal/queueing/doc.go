// Package queueing gives each object a worker of its own while there is something to do
// for it: strictly one thing at a time for an object, and different objects in parallel.
//
// What arrives while an object is being worked on is folded: the worker sees the newest
// version next, and all events in between only if somebody wants them. Objects with
// nothing to do cost nothing, and those that wait for a moment cost a timer.
package queueing
