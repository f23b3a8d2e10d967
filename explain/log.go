package explain

import (
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// LogLevels are the levels of the log, the least severe first.
var LogLevels = []inspect.LogLevel{inspect.LevelDebug, inspect.LevelInfo, inspect.LevelWarn, inspect.LevelError}

// LevelRank returns the position of a level in [LogLevels]. Output that the program printed
// without a level ranks highest.
func LevelRank(level inspect.LogLevel) int {
	if i := slices.Index(LogLevels, level); i >= 0 {
		return i
	}
	return len(LogLevels)
}

// LogObject names the object that a log line is about, with the short name of its kind: "kex default/web". It is empty
// if the line is about no object.
func LogObject(s *runner.State, line *inspect.LogLine) string {
	if line.Object == nil {
		return ""
	}
	return strings.TrimSpace(kindOf(s, line.Object.Resource).Short + " " + QualifiedName(*line.Object))
}

// LogKind returns the kind of the object that a log line is about; empty if it is not known.
func LogKind(s *runner.State, line *inspect.LogLine) string {
	if line.Object == nil {
		return ""
	}
	return kindOf(s, line.Object.Resource).Kind
}

// kindOf returns a resource by its key. For a resource that the operator does not watch, only the plural name is known.
func kindOf(s *runner.State, key string) inspect.Resource {
	if s.Snapshot != nil {
		for _, r := range s.Snapshot.Served {
			if r.Key == key {
				return r
			}
		}
	}
	plural, _, _ := strings.Cut(key, ".")
	return inspect.Resource{Key: key, Short: plural}
}

// IsAbout reports whether a log line is about an object.
func IsAbout(line *inspect.LogLine, ref inspect.Ref) bool {
	return line.Object != nil && SameObject(*line.Object, ref)
}
