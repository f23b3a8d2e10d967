// Package state reads and writes what the operator keeps on objects: the finalizer, the progress of
// handlers, the diff base (the essence as last handled) and results, with the names of the annotations
// that hold them.
package state
