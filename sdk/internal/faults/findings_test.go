package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// findings are the errors that a trial found, and the explained deviations: see
// docs/reliability.md.
type findings struct {
	Duplicates []string       `json:"duplicates"` // unexplained
	Losses     []string       `json:"losses"`     // unexplained
	Stuck      []string       `json:"stuck"`
	Doubled    []string       `json:"doubled"`  // effects and daemons
	Unneeded   []string       `json:"unneeded"` // alarms about steps, unexplained
	Explained  map[string]int `json:"explained"`

	timelines []string        // versions and calls of each object with an unexplained repetition or loss
	recorded  []time.Duration // duration from each call to the version that records it
	repeated  []string        // explained repetitions, with the reason
}

func (f *findings) none() bool { return f.unexplained()+len(f.Stuck)+len(f.Doubled) == 0 }

func (f *findings) unexplained() int { return len(f.Duplicates) + len(f.Losses) + len(f.Unneeded) }

// pending reports whether something may only be late.
func (f *findings) pending() bool { return len(f.Losses)+len(f.Stuck) > 0 }

// inspection looks for findings in one object.
type inspection struct {
	*findings
	object  *object
	calls   []call     // successful calls for the object
	tries   []call     // all calls for the object
	steps   []stepCall // calls of the object's steps
	onces   onces      // steps of the object that must happen at most once
	life    int        // number of the operator's last life
	starts  []uint64   // the version of the cluster when a life began, by its number
	refused []time.Time
	lists   []span // times of the operators' lists of the kind
}

// inspect looks at all objects. The expected values are the values of living objects, keyed by kind and name.
func inspect(h *history, l *ledger, injected []kopftest.InjectedFault, expected map[string]string) *findings {
	f := &findings{Explained: map[string]int{}}
	refused := refusals(injected)
	calls, tries := l.of()
	steps := l.stepsOf()
	life, doubled, starts := l.lives()
	f.Doubled = append(f.Doubled, doubled...)
	newest := map[string]*inspection{}
	for _, o := range h.all() {
		i := &inspection{
			findings: f, object: o, calls: calls[o.uid], tries: tries[o.uid], steps: steps[o.uid], onces: l.onceOf(o.uid),
			life: life, starts: starts, refused: refused[o.name], lists: l.listsOf(o.kind),
		}
		newest[o.kind+" "+o.name] = i
		before := f.unexplained()
		i.duplicates()
		i.repeatedSteps()
		i.repeatedOnces()
		i.doubledEffects()
		i.times()
		if o.newest().gone {
			i.lostDeletions()
			if l.running(o.uid) > 0 {
				f.Stuck = append(f.Stuck, o.name+" is gone, and its daemon runs")
			}
		}
		if f.unexplained() > before {
			f.timelines = append(f.timelines, i.timeline())
		}
	}
	for key, i := range newest {
		o, before := i.object, f.unexplained()
		value, lives := expected[key]
		switch {
		case !lives && !o.newest().gone:
			f.Stuck = append(f.Stuck, fmt.Sprintf("%s is not gone: %+v", key, o.newest()))
		case lives && (o.newest().gone || o.newest().value != value):
			f.Losses = append(f.Losses, fmt.Sprintf("%s should be at %s: %+v", key, value, o.newest()))
		case lives && !o.newest().settled():
			f.Stuck = append(f.Stuck, fmt.Sprintf("%s is not handled: %+v", key, o.newest()))
		case lives:
			i.lostChanges()
			i.lostEffects()
			if n := l.running(o.uid); n != 1 {
				f.Stuck = append(f.Stuck, fmt.Sprintf("%s has %d daemons", key, n))
			}
		}
		if f.unexplained() > before {
			f.timelines = append(f.timelines, i.timeline())
		}
	}
	return f
}

// refusals are the times at which a patch of an object was refused for good, by its name.
func refusals(injected []kopftest.InjectedFault) map[string][]time.Time {
	times := map[string][]time.Time{}
	for _, f := range injected {
		if f.Method == http.MethodPatch && f.Fault.Kind == kopftest.FaultStatus && (f.Fault.Code == http.StatusBadRequest || f.Fault.Field != "") {
			times[f.Object] = append(times[f.Object], f.Time)
		}
	}
	return times
}

// duplicates looks for calls of a handler for a change that it has been called for with success. Each of the earlier calls
// needs an explanation; the one for the last of them counts.
func (i *inspection) duplicates() {
	former := map[string][]call{}
	for _, c := range i.calls {
		key := c.handler
		if c.reason == kopf.ReasonUpdate {
			key += " " + c.old + " " + c.new
		}
		why := ""
		for _, a := range former[key] {
			if why = i.explain(a, c); why == "" {
				i.Duplicates = append(i.Duplicates, fmt.Sprintf("%s %s: %s and %s", i.object.kind, i.object.name, a, c))
				break
			}
		}
		if why != "" {
			i.Explained[why]++
			i.repeated = append(i.repeated, fmt.Sprintf("%s %s: %s and %s: %s", i.object.kind, i.object.name, former[key][len(former[key])-1], c, why))
		}
		former[key] = append(former[key], c)
	}
}

// explain returns why a call was repeated; empty if there is no good reason.
func (i *inspection) explain(first, again call) string {
	stored, ok := i.stored(first)
	switch {
	case ok && i.unseen(first, stored, again):
		return "call repeated: another call had not seen the change"
	case first.life == again.life:
		return ""
	case !ok || stored > i.starts[again.life]:
		return "call repeated: the process ended before the record was stored"
	case again.version < stored:
		return "call repeated: the next process saw a version older than the record"
	case again.reason == kopf.ReasonDelete && i.purged(first.handler, stored, again.version):
		return "call repeated: the process ended between the removal of the records and of the finalizer"
	case i.setBack(first.handler, stored, again):
		return "call repeated: a process with an old view had set the object back"
	default:
		return ""
	}
}

// unseen reports whether the handling ended with the state of before the change as the last-handled one,
// since the process that ended it had called a handler, perhaps without success, with another state.
func (i *inspection) unseen(first call, stored uint64, again call) bool {
	if again.reason != kopf.ReasonUpdate {
		return false
	}
	ended := i.ends(stored, again.version, func(v version) bool { return v.last == again.old && v.last != v.value })
	return ended && slices.ContainsFunc(i.tries, func(c call) bool {
		return c.life >= first.life && c.life <= again.life && c.at.Before(again.at) && c.new != again.new && i.oldView(c)
	})
}

// lifeAt returns the number of the life in which a version was stored.
func (i *inspection) lifeAt(number uint64) (life int) {
	for life+1 < len(i.starts) && i.starts[life+1] < number {
		life++
	}
	return life
}

// ends reports whether a handling ended between two versions, in a state.
func (i *inspection) ends(from, to uint64, in func(version) bool) bool {
	var former version
	for _, v := range i.object.versions {
		if v.number >= from && v.number <= to && len(former.records) > 0 && len(v.records) == 0 && in(v) {
			return true
		}
		former = v
	}
	return false
}

// oldView reports whether a call was made with a version that was outdated when its process began.
func (i *inspection) oldView(c call) bool { return i.object.at(i.starts[c.life]).number > c.version }

// purged reports whether the record of a handler of a deletion was removed before the finalizer.
func (i *inspection) purged(handler string, from, to uint64) bool {
	return slices.ContainsFunc(i.object.versions, func(v version) bool {
		return v.number > from && v.number <= to && v.held && !v.records[handler].Success
	})
}

// stored returns the first version that says that a call was successful. Versions from before the
// start of its process have records of earlier processes: the call may have an old view.
func (i *inspection) stored(c call) (number uint64, ok bool) {
	since := max(c.version, i.starts[c.life])
	before := i.object.at(since)
	former := before
	for _, v := range i.object.versions {
		if v.number <= since {
			continue
		}
		r := v.records[c.handler]
		ended := len(former.records) > 0 && len(v.records) == 0
		former = v
		switch {
		case r.Success && r.Purpose == string(c.reason),
			c.reason != kopf.ReasonDelete && (ended || v.last != before.last),
			c.reason == kopf.ReasonDelete && (v.gone || !v.held):
			return v.number, true
		}
	}
	return 0, false
}

// times collects how long it took to record the calls that are recorded.
func (i *inspection) times() {
	for _, c := range i.calls {
		if stored, ok := i.stored(c); ok {
			i.recorded = append(i.recorded, max(0, i.object.at(stored).came.Sub(c.at)))
		}
	}
}

// setBack reports whether, after a version, an older last-handled state replaced the newer one, or a record without
// success replaced the handler's successful record.
func (i *inspection) setBack(handler string, stored uint64, again call) bool {
	former := i.object.at(stored)
	for _, v := range i.object.versions {
		if v.number <= stored || v.number > again.version {
			continue
		}
		r, recorded := v.records[handler]
		if v.last != former.last && v.last == again.old || recorded && !r.Success && former.records[handler].Success {
			return true
		}
		former = v
	}
	return false
}

// doubledEffects looks for transformations that were applied twice.
func (i *inspection) doubledEffects() {
	seen := map[string]bool{}
	for _, v := range i.object.versions {
		applied := slices.Sorted(slices.Values(v.status.Applied))
		for n := 1; n < len(applied); n++ {
			if id := applied[n]; id == applied[n-1] && !seen[id] {
				seen[id] = true
				i.Doubled = append(i.Doubled, fmt.Sprintf("%s %s: the transformation of %s at version %d", i.object.kind, i.object.name, id, v.number))
			}
		}
	}
}

// lostDeletions looks for delete handlers that were not called.
func (i *inspection) lostDeletions() {
	if !slices.ContainsFunc(i.object.versions, func(v version) bool { return v.held && v.deleting }) {
		return // it was deleted before the operator knew it
	}
	for _, id := range []string{"delete_1", "delete_2"} {
		if !slices.ContainsFunc(i.calls, func(c call) bool { return c.handler == id }) {
			i.Losses = append(i.Losses, fmt.Sprintf("%s %s is gone without %s", i.object.kind, i.object.name, id))
		}
	}
}

// lostChanges looks for handlers that do not know the newest value.
func (i *inspection) lostChanges() {
	want := i.object.newest().value
	for _, n := range []string{"1", "2"} {
		ids := []string{"create_" + n, "update_" + n}
		last := i.last(ids...)
		switch {
		case last != nil && last.new == want:
		case last != nil && i.oldView(*last) && slices.ContainsFunc(i.calls, func(c call) bool { return c.life < last.life && c.new == want && strings.HasSuffix(c.handler, n) }):
			i.Explained["change undone: the last call was by a process with an old view"]++
		case i.missed(want, ids):
			i.Explained["change missed: the process ended while another handler was to be retried"]++
		case last != nil && i.leftDone(*last, want):
			i.Explained["change missed: a process with an old view had recorded the other handler, or a finished change"]++
		default:
			i.Losses = append(i.Losses, fmt.Sprintf("%s %s: %s was not handled by the handlers %s: last was %v", i.object.kind, i.object.name, want, n, last))
		}
	}
}

// missed reports whether a handler was not called again because its process ended while the other handler was to be
// retried. Processes with an old view may have repeated earlier calls since.
func (i *inspection) missed(value string, ids []string) bool {
	for _, c := range slices.Backward(i.calls) {
		if !slices.Contains(ids, c.handler) {
			continue
		}
		if i.finishedLater(c, value) {
			return true
		}
		if !i.oldView(c) {
			return false
		}
	}
	return false
}

// leftDone reports whether a handler had been recorded when the object got a value, and a later process ended the handling. The
// records of all handlers can only be on an object at once if a process with an old view wrote one of them.
func (i *inspection) leftDone(last call, value string) bool {
	got := slices.IndexFunc(i.object.versions, func(v version) bool { return v.value == value })
	end := slices.IndexFunc(i.object.versions, func(v version) bool { return v.last == value })
	if got < 0 || end < got || !i.object.versions[got].records[last.handler].Success || last.life >= i.lifeAt(i.object.versions[end].number) {
		return false
	}
	return slices.ContainsFunc(i.tries, func(c call) bool { return c.version < i.object.versions[got].number && i.oldView(c) })
}

// finishedLater reports whether a call was recorded before its process ended, and a later process called
// the other handler with a value, which ended the handling.
func (i *inspection) finishedLater(c call, value string) bool {
	stored, ok := i.stored(c)
	return ok && slices.ContainsFunc(i.calls, func(o call) bool {
		return o.life > c.life && o.new == value && o.reason == c.reason && o.handler != c.handler && stored <= i.starts[o.life]
	})
}

// last returns the last call of some handlers; nil if there was none.
func (i *inspection) last(ids ...string) *call {
	for _, c := range slices.Backward(i.calls) {
		if slices.Contains(ids, c.handler) {
			return &c
		}
	}
	return nil
}

// lostEffects looks for results and patches of handlers that are not on the object.
func (i *inspection) lostEffects() {
	newest := i.object.newest()
	for handler, effect := range map[string]string{"create_1": newest.status.Created, "create_2": newest.status.Result, "update_2": newest.status.Merged} {
		if c := i.last(handler); c != nil && effect != c.id {
			i.lostEffect(*c, fmt.Sprintf("it has that of %q", effect))
		}
	}
	for _, c := range i.calls {
		if c.handler == "update_1" && !slices.Contains(newest.status.Applied, c.id) {
			i.lostEffect(c, "it has those of "+strings.Join(newest.status.Applied, " "))
		}
	}
}

func (i *inspection) lostEffect(c call, instead string) {
	later := slices.ContainsFunc(i.calls, func(o call) bool { return o.at.After(c.at) && o.life == c.life })
	switch {
	case slices.ContainsFunc(i.refused, func(at time.Time) bool { return at.After(c.at) }):
		i.Explained["effect lost: the API server refused the patch for good"]++
	case c.life != i.life && !later:
		i.Explained["effect lost: the process ended before it was stored"]++
	default:
		i.Losses = append(i.Losses, fmt.Sprintf("%s %s: the effect of %s: %s", i.object.kind, i.object.name, c, instead))
	}
}
