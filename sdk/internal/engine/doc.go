// Package engine runs an operator: it watches the resources that handlers are registered for, detects
// what happened to each object, calls the handlers, and patches the object with what they came to.
package engine
