package engine

import (
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// handledStates is what the handlers of the present cause had seen when they were done.
type handledStates struct {
	first  *object.Object    // the version of the first of them
	hashes map[string]uint64 // of the essences, by the ids of the handlers
}

// of returns the states of some handlers and their sub-handlers; nil if there are none.
func (s *handledStates) of(ids []string) *handledStates {
	if s == nil {
		return nil
	}
	some := &handledStates{first: s.first, hashes: map[string]uint64{}}
	for id, hash := range s.hashes {
		if slices.ContainsFunc(ids, func(top string) bool { return id == top || strings.HasPrefix(id, top+"/") }) {
			some.hashes[id] = hash
		}
	}
	if len(some.hashes) == 0 {
		return nil
	}
	return some
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
