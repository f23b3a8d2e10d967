// Package watch follows the objects of one resource: it lists them, then streams their changes, and
// recovers from every interruption.
package watch
