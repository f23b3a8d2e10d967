//go:build !linux

package instance

import "context"

// lowerSession does nothing: only Linux divides the CPU time between sessions.
func lowerSession(context.Context, int) error { return nil }
