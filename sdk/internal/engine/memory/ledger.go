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

// Ledger keeps which versions of an object were handled, and which one the operator has made: all decisions about old
// versions are made here. The answer to a PATCH is the next version; the stream brings it later, when there is nothing
// left to do for it. An answer never counts as seen before a cycle has handled it. Only the object's worker uses a
// ledger.
type Ledger struct {
	taken  string         // resourceVersion of the newest version that a cycle has handled, or that was skipped; empty at first
	Answer *object.Object // a newer one that the operator's patch made; nil if there is none
	strict time.Time      // versions that cannot be compared do not count in the stream until then, but for the taken one
}

// News is the use of a batch for an object.
type News int

// The uses of a version.
const (
	NewsNothing News = iota // the version was handled before, or is older; only event handlers get it
	NewsNewer               // a version that was not handled yet
	NewsAnswer              // the same, made by the operator's patch, and not brought by the stream yet
	NewsSame                // the version was handled before, and is to be handled again
	NewsReread              // something is to be done, and the version is too old for it: the newest one must be read
)

// Take returns the version that a cycle has to handle. Due is whether something waits to be done even without news.
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
		l.strict = time.Time{} // all that come from now on are newer
		return seen, NewsNothing
	case asked && (object.Precedes(version, l.taken) || now.Before(l.strict) || len(b.Events) == 0):
		return nil, NewsReread
	case object.Precedes(version, l.taken), now.Before(l.strict):
		return seen, NewsNothing
	default: // they cannot be compared, and the taken one has had its time to come
		l.taken = version
		return seen, NewsNewer
	}
}

// Took notes a version that was read because of [NewsReread].
func (l *Ledger) Took(read *object.Object) { l.taken, l.Answer = read.ResourceVersion, nil }

// Wrote notes the version that the operator's patch made: it is handled next. Versions that are not
// numbers cannot be compared: until strict, the ledger takes all others for older ones.
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

// Skip notes that nothing is left to do for the version that the operator's patch made, nor for those before it.
func (l *Ledger) Skip() {
	if l.Answer != nil {
		l.taken, l.Answer = l.Answer.ResourceVersion, nil
	}
}

// Released notes that the operator's patch has removed its finalizer from a deleted object. If the object vanishes with
// that, the answer has the resourceVersion of the version before. Otherwise, the stream brings the version that the
// patch made: another client holds the object, or it is a Pod, which lives on. All before it still have the finalizer,
// but not the records of the deletion handlers.
func (l *Ledger) Released(vanishes bool) {
	answer := l.Answer
	l.Skip()
	if answer != nil && !vanishes && core.NumberOf(answer.ResourceVersion) > 0 {
		l.taken = strconv.FormatUint(core.NumberOf(answer.ResourceVersion)-1, 10)
	}
}

// Vanishes reports whether the API server removes a deleted object after this version, as it does if there are no
// finalizers and no time to end.
func Vanishes(o *object.Object) bool {
	tree, err := o.Tree()
	if err != nil {
		return false // the stream decides
	}
	defer o.DropTree()
	metadata := object.Metadata(tree)
	finalizers, _ := metadata["finalizers"].([]any)
	grace, _ := metadata["deletionGracePeriodSeconds"]
	return len(finalizers) == 0 && (grace == nil || fmt.Sprint(grace) == "0")
}

// Listed forgets versions that a list proves to be lost: it is complete up to a later resourceVersion, and has an older version
// of the object. The API server was restored from a backup.
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
		l.taken = strconv.FormatUint(watch.Everything, 10) // it may have been made after the list: the newest one is read
	case lost(l.taken):
		l.taken = ""
	}
}

// knows reports whether a version is the newest that the operator has handled or made: no other client has changed the
// object since.
func (l *Ledger) knows(version string) bool {
	if l.Answer != nil {
		return version == l.Answer.ResourceVersion
	}
	return version == l.taken
}
