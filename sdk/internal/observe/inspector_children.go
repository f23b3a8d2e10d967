package observe

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// ChildNotes are the facts about children that only passes know. A child that the last pass has left unchanged, and that never
// drifted, has no note: the notes of an object whose children are as they should be take no memory. The value is replaced by each
// pass, never modified.
type ChildNotes struct {
	Of     map[ChildKey]ChildNote
	Cut    bool // children without a note may have any result, because there are too many notes
	Passed bool // a pass has ended
}

// ChildKey identifies a child among the children of its parent.
type ChildKey struct{ Resource, Namespace, Name string }

// ChildNote is the note about a child.
type ChildNote struct {
	inspect.KindRef
	Result inspect.ChildResult
	Error  string
	Exists bool      // the child existed when the pass ended
	At     time.Time // end of the pass
	Drift  []inspect.FieldDrift
}

// maxDrift is the number of drifted fields of a child that are kept: the newest.
const maxDrift = 10

// prunedShown is how long a pruned child stays in the list although further passes have ended: the end of its deletion can cause one.
const prunedShown = 10 * time.Minute

// ChildKeyOf returns the key of a child.
func ChildKeyOf(ref inspect.Ref) ChildKey { return ChildKey{ref.Resource, ref.Namespace, ref.Name} }

// childrenChanged shows the numbers of children, and the last pass.
func (o *shown) childrenChanged(e ChildrenChanged, now time.Time) {
	if e.Pass != nil {
		o.passed(e.Pass, now)
	}
	counts := e.Existing
	for _, note := range o.notes.Of {
		if !note.Exists && note.Result != inspect.ResultPruned {
			counts.Total++
		}
	}
	o.Children = &counts
}

// passed shows a pass that has ended.
func (o *shown) passed(e *EndedPass, now time.Time) {
	pass := e.Pass
	pass.Number = 1
	if o.Pass != nil {
		pass.Number += o.Pass.Number
	}
	notes := ChildNotes{Of: map[ChildKey]ChildNote{}, Passed: true}
	for i := range e.Children {
		c := &e.Children[i]
		switch c.Result {
		case inspect.ResultCreated, inspect.ResultChanged, inspect.ResultReverted:
			pass.Applied++
		case inspect.ResultUnchanged, inspect.ResultYielded:
			pass.Applied++
			pass.Unchanged++
		case inspect.ResultPruned:
			pass.Pruned++
		case inspect.ResultRefused:
			pass.Refused++
		case inspect.ResultAwaited:
		}
		key := ChildKeyOf(c.Ref)
		note := ChildNote{KindRef: c.KindRef, Result: c.Result, Error: c.Error, Exists: c.Exists, At: now, Drift: driftAfter(o.notes.Of[key].Drift, c)}
		if note.Result == inspect.ResultUnchanged {
			if slices.ContainsFunc(note.Drift, isLeft) {
				note.Result = inspect.ResultYielded
			} else if note.Drift == nil {
				continue
			}
		}
		if len(notes.Of) == inspect.MaxChildren {
			notes.Cut = true
			continue
		}
		notes.Of[key] = note
	}
	for key, note := range o.notes.Of {
		_, again := notes.Of[key]
		if note.Result == inspect.ResultPruned && !again && now.Sub(note.At) < prunedShown && len(notes.Of) < inspect.MaxChildren {
			notes.Of[key] = note
		}
	}
	o.Pass, o.notes = &pass, notes
}

// isLeft reports whether a field is left to its manager.
func isLeft(d inspect.FieldDrift) bool { return d.Outcome != inspect.DriftReverted }

// driftAfter returns the drift of a child after a pass.
func driftAfter(before []inspect.FieldDrift, c *PassedChild) []inspect.FieldDrift {
	if c.Result == inspect.ResultCreated {
		before = nil
	}
	same := func(a inspect.FieldDrift) func(inspect.FieldDrift) bool {
		return func(b inspect.FieldDrift) bool {
			return a.Path == b.Path && a.Manager == b.Manager && a.Scale == b.Scale && a.Outcome == b.Outcome
		}
	}
	var drift []inspect.FieldDrift
	for _, d := range before {
		if c.Judged && isLeft(d) && !slices.ContainsFunc(c.Drift, same(d)) {
			continue // the manager no longer has the field
		}
		drift = append(drift, d)
	}
	for _, d := range c.Drift {
		d.Count = 1
		if i := slices.IndexFunc(drift, same(d)); i >= 0 {
			if isLeft(d) {
				continue
			}
			d.Count += drift[i].Count
			drift = slices.Delete(drift, i, i+1)
		}
		drift = append(drift, d)
	}
	return drift[max(0, len(drift)-maxDrift):]
}

// ChildNotes returns the notes about the children of an object, by the object; for the zero Ref, of all objects.
func (i *Inspector) ChildNotes(of inspect.Ref) map[inspect.Ref]ChildNotes {
	var objects []*inspectedObject
	i.objects.mu.Lock()
	if of == (inspect.Ref{}) {
		for _, o := range i.objects.byKey {
			objects = append(objects, o)
		}
	} else if o := i.objects.byKey[newObjectKey(of.Resource, of.Namespace, of.Name, of.UID)]; o != nil {
		objects = append(objects, o)
	}
	i.objects.mu.Unlock()
	all := make(map[inspect.Ref]ChildNotes, len(objects))
	for _, o := range objects {
		o.mu.Lock()
		all[o.shown.Ref] = o.shown.notes
		o.mu.Unlock()
	}
	return all
}
