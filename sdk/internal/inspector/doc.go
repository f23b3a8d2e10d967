// Package inspector is the operator's side of the inspector protocol of package inspect: a [Hub] holds the
// operator's state for its readers, and [Serve] serves it.
package inspector
