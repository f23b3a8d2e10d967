// Package watched decides which parents an object concerns that is no child of theirs: the parents name the object in their
// fields, or a function of the operator names the parents.
package watched
