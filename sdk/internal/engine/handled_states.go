package engine

import (
	"encoding/json"
	"hash/maphash"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// handledStates is what handlers had seen when they were done, since the object was last handled: those of
// the present cause, and of causes that it has superseded.
type handledStates struct {
	first  *object.Object    // the version of the first of them
	hashes map[string]uint64 // of the essences, by the ids of the handlers
}

// differFrom reports whether a handler has seen another essence.
func (s *handledStates) differFrom(hash uint64) bool {
	for _, seen := range s.hashes {
		if seen != hash {
			return true
		}
	}
	return false
}

// hasNotSeen reports whether a handler or one of its sub-handlers has not seen an essence.
func (s *handledStates) hasNotSeen(id string, hash uint64) bool {
	if seen, ok := s.hashes[id]; !ok || seen != hash {
		return true
	}
	for sub, seen := range s.hashes {
		if strings.HasPrefix(sub, id+"/") && seen != hash {
			return true
		}
	}
	return false
}

var essenceSeed = maphash.MakeSeed()

// hashEssence returns a hash of an essence within this process.
func hashEssence(essence map[string]any) uint64 {
	text, err := json.Marshal(essence)
	if err != nil {
		return 0 // never: it was decoded from JSON
	}
	return maphash.Bytes(essenceSeed, text)
}
