package memory

import (
	"encoding/json"
	"hash/maphash"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// HandledStates is what handlers had seen when they were done, since the object was last handled: those of
// the present cause, and of causes that it has superseded.
type HandledStates struct {
	First  *object.Object    // the version of the first of them
	Hashes map[string]uint64 // of the essences, by the ids of the handlers
}

// DifferFrom reports whether a handler has seen another essence.
func (s *HandledStates) DifferFrom(hash uint64) bool {
	for _, seen := range s.Hashes {
		if seen != hash {
			return true
		}
	}
	return false
}

// HasNotSeen reports whether a handler or one of its sub-handlers has not seen an essence.
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

// HashEssence returns a hash of an essence within this process.
func HashEssence(essence map[string]any) uint64 {
	text, err := json.Marshal(essence)
	if err != nil {
		return 0 // never: it was decoded from JSON
	}
	return maphash.Bytes(essenceSeed, text)
}
