// Package reactor is the operator: it watches what the handlers are for, decides for each
// object what has happened to it, calls the handlers, and records on the object what has
// become of them.
//
// Data flow one way: watching → queueing → cause → handlers → outcome → patch. The cycle
// of one object is in cycle.go; which resources and namespaces are served, in observer.go
// and ensemble.go.
package reactor
