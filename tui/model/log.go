package model

import (
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// LogLevels are the levels of the log, the least first.
var LogLevels = []inspect.LogLevel{inspect.LevelDebug, inspect.LevelInfo, inspect.LevelWarn, inspect.LevelError}

// LevelRank returns the position of a level in [LogLevels]. Output that the program printed
// without a level ranks highest.
func LevelRank(level inspect.LogLevel) int {
	if i := slices.Index(LogLevels, level); i >= 0 {
		return i
	}
	return len(LogLevels)
}

// IsAbout reports whether a log line is about an object.
func IsAbout(line *inspect.LogLine, ref inspect.Ref) bool {
	return line.Object != nil && SameObject(*line.Object, ref)
}
