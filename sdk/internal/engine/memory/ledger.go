package memory

import (
	"fmt"
	"strconv"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// Ledger knows which versions of an object were handled, and which one the operator made; it makes all decisions about old versions. The
// response to a PATCH is the next version. The stream delivers the same version later, when nothing is left to do for it. A response does not
// count as seen before a cycle has handled it. Only the object's worker uses a ledger.
type Ledger struct {
	taken  string         // resourceVersion of the newest version that was handled or skipped; empty at first
	Answer *object.Object // newer version that the operator made or read; nil if there is none
	strict time.Time      // end of the time in which incomparable versions from the stream are ignored
}

// News is the novelty of a batch's version, compared with the versions that the ledger knows.
type News int

// The novelties of a version. The taken version is the last version that a cycle handled.
const (
	NewsNothing News = iota // the version is the taken version or older; only event handlers get it
	NewsNewer               // the version is newer than the taken version
	NewsAnswer              // the version is newer; the operator made or read it, and the stream has not delivered it yet
	NewsSame                // the version was handled before, and must be handled again
	NewsReread              // the version is too old for pending work, so the newest version must be read
)

// Take returns the version that a cycle must handle. Due is whether work is pending even without a newer version.
func (l *Ledger) Take(b *queue.Batch, due bool, now time.Time) (*object.Object, News) {
	seen := b.Newest.Object
	if b.Newest.Type == watch.Deleted {
		l.Answer = nil
		return seen, NewsSame
	}
	if answer := l.Answer; answer != nil {
		l.Answer = nil
		if object.Older(seen.ResourceVersion, answer.ResourceVersion) {
			l.taken = answer.ResourceVersion
			return answer, NewsAnswer
		}
		l.taken, l.strict = seen.ResourceVersion, time.Time{} // the stream was faster than the next cycle
		return seen, NewsNewer
	}
	asked := due || b.Requeued || b.Listed || len(b.Events) == 0
	switch version := seen.ResourceVersion; {
	case b.Bodiless:
		return nil, NewsReread
	case l.taken == "", object.Precedes(l.taken, version):
		l.taken = version
		return seen, NewsNewer
	case version == l.taken && asked:
		return seen, NewsSame
	case version == l.taken:
		l.strict = time.Time{} // all later versions are newer
		return seen, NewsNothing
	case asked && (object.Precedes(version, l.taken) || now.Before(l.strict) || len(b.Events) == 0):
		return nil, NewsReread
	case object.Precedes(version, l.taken), now.Before(l.strict):
		return seen, NewsNothing
	default: // the versions cannot be compared, and the operator has waited long enough for the version of its own patch
		l.taken = version
		return seen, NewsNewer
	}
}

// Took records the version that was read because of [NewsReread].
func (l *Ledger) Took(read *object.Object) { l.taken, l.Answer = read.ResourceVersion, nil }

// Wrote records a version that the operator made or read, which the next cycle handles. Versions that are not numbers
// cannot be compared: until strict, the ledger regards all other such versions as older.
func (l *Ledger) Wrote(answer *object.Object, strict time.Time) {
	answer.DropTree()
	if answer.ResourceVersion == l.taken || object.Precedes(answer.ResourceVersion, l.taken) {
		return
	}
	l.Answer = answer
	if core.NumberOf(answer.ResourceVersion) == 0 {
		l.strict = strict
	}
}

// Skip marks the version that the operator's patch made, and all before it, as handled.
func (l *Ledger) Skip() {
	if l.Answer != nil {
		l.taken, l.Answer = l.Answer.ResourceVersion, nil
	}
}

// Released records that the operator's patch removed its finalizer from a deleted object. If the object vanishes with the finalizer, the response
// has the resourceVersion of the version before the patch. Otherwise, the stream delivers the version that the patch made, because another
// finalizer holds the object, or a Pod terminates. All earlier versions still have the finalizer, but not the records of the deletion handlers.
func (l *Ledger) Released(vanishes bool) {
	answer := l.Answer
	l.Skip()
	if answer != nil && !vanishes && core.NumberOf(answer.ResourceVersion) > 0 {
		l.taken = strconv.FormatUint(core.NumberOf(answer.ResourceVersion)-1, 10)
	}
}

// Vanishes reports whether the API server removes a deleted object after this version: it has no finalizers and no grace period.
func Vanishes(o *object.Object) bool {
	tree, err := o.Tree()
	if err != nil {
		return false // a deletion of the object arrives from the stream
	}
	defer o.DropTree()
	metadata := object.Metadata(tree)
	finalizers, _ := metadata["finalizers"].([]any)
	grace, _ := metadata["deletionGracePeriodSeconds"]
	return len(finalizers) == 0 && (grace == nil || fmt.Sprint(grace) == "0")
}

// Listed drops versions that a list proves to be lost: the list is complete up to a later resourceVersion, and has an
// older version of the object. This happens after a restore of the API server from a backup.
func (l *Ledger) Listed(seen *object.Object, complete uint64) {
	lost := func(version string) bool {
		return complete > 0 && object.Precedes(seen.ResourceVersion, version) && complete >= core.NumberOf(version)
	}
	made := l.Answer != nil && lost(l.Answer.ResourceVersion)
	if made {
		l.Answer = nil
	}
	switch {
	case complete == watch.Everything && (made || lost(l.taken)):
		l.taken = strconv.FormatUint(watch.Everything, 10) // the version may be newer than the list, so the newest one is read
	case lost(l.taken):
		l.taken = ""
	}
}

// settled reports whether [Ledger.Take] would return [NewsNothing] for the event of a version, and change nothing.
func (l *Ledger) settled(version string) bool {
	return l.Answer == nil && version != "" && version == l.taken && l.strict.IsZero()
}

// knows reports whether a version is the newest that the operator has handled or made, so that no other client has changed the object since.
func (l *Ledger) knows(version string) bool {
	if l.Answer != nil {
		return version == l.Answer.ResourceVersion
	}
	return version == l.taken
}
