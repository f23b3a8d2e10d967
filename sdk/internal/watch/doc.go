// Package watch lists the objects of a resource and then streams their changes, across all
// interruptions.
package watch
