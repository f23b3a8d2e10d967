package memory

import (
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// HandledStates are the states that handlers of the current cause, and of causes that it superseded, had seen when they finished.
type HandledStates struct {
	Versions []*object.Object  // versions that finished handlers have seen, one for each essence, in the order of the handlers' ends
	Hashes   map[string]uint64 // hashes of the seen essences, by the ids of the handlers
}

// Note records that a handler has seen a version, whose essence has the hash.
func (s *HandledStates) Note(id string, version *object.Object, hash uint64) {
	if !slices.Contains(slices.Collect(maps.Values(s.Hashes)), hash) {
		s.Versions = append(s.Versions, version.Detached())
	}
	if s.Hashes == nil {
		s.Hashes = map[string]uint64{}
	}
	s.Hashes[id] = hash
}

// HasNotSeen reports whether a handler or one of its sub-handlers has not seen the essence with the hash.
func (s *HandledStates) HasNotSeen(id string, hash uint64) bool {
	if seen, ok := s.Hashes[id]; !ok || seen != hash {
		return true
	}
	for sub, seen := range s.Hashes {
		if strings.HasPrefix(sub, id+"/") && seen != hash {
			return true
		}
	}
	return false
}

var essenceSeed = maphash.MakeSeed()

// HashEssence returns a hash of an essence, which is valid within this process.
func HashEssence(essence map[string]any) uint64 {
	text, err := object.AppendJSON(nil, essence, nil)
	if err != nil {
		return 0 // unreachable, because the essence was decoded from JSON
	}
	return maphash.Bytes(essenceSeed, text)
}
