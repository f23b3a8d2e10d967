// Package watched finds the parents that a watched object concerns. Either the parents name the object in their fields, or a
// function of the operator returns the parents. The object is no child of these parents.
package watched
