// Package watch lists the objects of a resource and then streams their changes. After an interruption, it reconnects.
package watch
