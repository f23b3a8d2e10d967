package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// DriftSentence describes a field of a Go type that the schema of a resource lacks.
func DriftSentence(resource string, d *inspect.Drift) string {
	return d.Field + " is in " + d.Type + " but not in the schema of " + resource + ": it is always empty"
}

// DriftOf returns the sentences about the Go type of a handler.
func DriftOf(served []inspect.Resource, handler string) []string {
	var sentences []string
	for i := range served {
		for j := range served[i].Drift {
			if d := &served[i].Drift[j]; slices.Contains(d.Handlers, handler) {
				sentences = append(sentences, DriftSentence(served[i].Key, d))
			}
		}
	}
	return sentences
}

// drifted returns the alarm about fields that the schemas lack.
func (s *State) drifted() Alarm {
	if s.Snapshot == nil || !s.Live {
		return Alarm{}
	}
	var a Alarm
	n := 0
	for i := range s.Snapshot.Served {
		res := &s.Snapshot.Served[i]
		for j := range res.Drift {
			if n++; n == 1 {
				d := &res.Drift[j]
				a = Alarm{Tone: Warn, Fact: "! " + d.Field + " is not in the schema of " + res.Key, Rest: "always empty in " + strings.Join(d.Handlers, ", ")}
			}
		}
	}
	if n > 1 {
		a.Rest += fmt.Sprintf(" · and %d more", n-1)
	}
	return a
}
