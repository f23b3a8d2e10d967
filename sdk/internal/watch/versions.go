package watch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Versions only go forward: versions older than the newest known version are dropped, if they are comparable.
// Kubernetes' versions are increasing numbers; other versions are passed on in their order of arrival.

const (
	// maxBuried is the number of deleted objects to remember, so that late events do not revive them.
	maxBuried = 1000

	// maxStaleLists is how many outdated lists in a row are dropped. A further outdated list means that the server
	// has lost its newer state, for example because it was restored from a backup.
	maxStaleLists = 3
)

var (
	errOutdated = errors.New("a newer version is known")
	errBuried   = errors.New("the object was deleted")
)

// versions detects events and lists of a stream that are older than known versions.
type versions struct {
	newest   uint64 // greatest version of all objects and lists
	stale    int    // number of consecutive outdated lists
	restored bool   // the server lost its newer state, so the last list may have older versions
	strange  bool   // the versions of lists cannot be compared with the versions of objects

	graves map[objectKey]struct{}
	order  []objectKey // order of the graves, a ring
	next   int
}

// numberOf returns a resourceVersion as a number; 0 if it is not a number.
func numberOf(resourceVersion string) uint64 {
	number, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return number
}

func (v *versions) seen(version uint64) { v.newest = max(v.newest, version) }

// list records the versions of a list. It returns an error if the list is outdated, unless the server was restored from
// a backup.
func (v *versions) list(resourceVersion string, objects []*object.Object, restored bool) error {
	version, newest := numberOf(resourceVersion), uint64(0)
	for _, o := range objects {
		newest = max(newest, numberOf(o.ResourceVersion))
	}
	v.strange = v.strange || newest > version
	v.restored = false
	if version != 0 && version < v.newest && !v.strange {
		if v.stale++; v.stale < maxStaleLists && !restored {
			return fmt.Errorf("the list has version %d, which is older than %d", version, v.newest)
		}
		v.restored, v.newest = true, 0
		v.graves, v.order, v.next = nil, nil, 0
	}
	v.stale = 0
	v.seen(max(version, newest))
	return nil
}

// complete returns the version up to which a list includes all writes; 0 if that version is unknown.
func (v *versions) complete(resourceVersion string) uint64 {
	switch {
	case v.restored:
		return Everything
	case v.strange:
		return 0
	default:
		return numberOf(resourceVersion)
	}
}

// bury remembers a deleted object. An object with this uid only exists again after a restore from a backup.
func (v *versions) bury(key objectKey) {
	if v.graves == nil {
		v.graves = map[objectKey]struct{}{}
	}
	if _, known := v.graves[key]; known {
		return
	}
	v.graves[key] = struct{}{}
	if len(v.order) < maxBuried {
		v.order = append(v.order, key)
		return
	}
	delete(v.graves, v.order[v.next])
	v.order[v.next] = key
	v.next = (v.next + 1) % maxBuried
}

// unbury forgets the deletion of an object that is in a list: the server was restored from a backup.
func (v *versions) unbury(key objectKey) {
	if !v.buried(key) {
		return
	}
	delete(v.graves, key)
	if i := slices.Index(v.order, key); i >= 0 {
		v.order[i] = objectKey{} // otherwise, reusing the slot would remove a later grave of the object
	}
}

func (v *versions) buried(key objectKey) bool {
	_, known := v.graves[key]
	return known
}
