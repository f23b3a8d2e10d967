// Package patch collects changes of an object, and sends them by as few requests as possible.
package patch

import (
	"maps"
	"slices"
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Fn transforms a copy of an object in place. It may run again for a newer version of the
// object, so it must depend on nothing but its argument.
type Fn func(object map[string]any) error

// Patch is a merge patch (RFC 7386), and transformations for what that cannot express, such
// as adding to a list. The transformations run on the newest known version of the object; their
// changes are sent as a JSON patch (RFC 6902), which applies to that version only.
//
// A patch is safe for concurrent use.
type Patch struct {
	mu    sync.Mutex
	merge map[string]any
	fns   []Fn
	lost  *lostAnswer
}

// NewPatch returns an empty patch.
func NewPatch() *Patch {
	return new(Patch)
}

// Set sets a field. A nil value removes it from the object. Set replaces parents in the patch
// that are not maps. It ignores the empty path; see [Patch.Merge].
func (p *Patch) Set(path object.Path, value any) {
	p.Edit(func(merge map[string]any) {
		place(merge, path, value)
	})
}

// Remove removes a field from the object.
func (p *Patch) Remove(path object.Path) {
	p.Set(path, nil)
}

// Discard removes a field from the patch, with the parents that become empty. The object
// keeps its field.
func (p *Patch) Discard(path object.Path) {
	p.Edit(func(merge map[string]any) {
		discard(merge, path)
	})
}

// Merge adds another merge patch. It merges maps recursively and replaces all else.
func (p *Patch) Merge(other map[string]any) {
	p.Edit(func(merge map[string]any) {
		unite(merge, object.CloneMap(other))
	})
}

// Edit calls a function with the merge patch itself, which must not be retained.
func (p *Patch) Edit(edit func(merge map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.merge == nil {
		p.merge = map[string]any{}
	}
	edit(p.merge)
}

// Lookup returns the value of a field in the merge patch, which is nil if the patch removes
// it, and whether it is there.
func (p *Patch) Lookup(path object.Path) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return object.Lookup(p.merge, path)
}

// AddFn adds a transformation, which runs after those added before.
func (p *Patch) AddFn(fn Fn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fns = append(p.fns, fn)
}

// Fns returns the transformations.
func (p *Patch) Fns() []Fn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Fn(nil), p.fns...)
}

// Empty reports whether the patch changes nothing.
func (p *Patch) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.merge) == 0 && len(p.fns) == 0
}

// Fields returns the number of top-level fields in the merge patch.
func (p *Patch) Fields() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.merge)
}

// Tree returns a copy of the merge patch.
func (p *Patch) Tree() map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.merge == nil {
		return map[string]any{}
	}
	return object.CloneMap(p.merge)
}

// Take moves the content of the patch into a new one.
func (p *Patch) Take() *Patch {
	taken := NewPatch()
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.merge, taken.fns, taken.lost = p.merge, p.fns, p.lost
	p.merge, p.fns, p.lost = nil, nil, nil
	return taken
}

// Append adds the content of another patch.
func (p *Patch) Append(other *Patch) {
	merge, fns, lost := other.Tree(), other.Fns(), other.lostAnswer()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fns) == 0 {
		p.lost = lost
	}
	if p.merge == nil {
		p.merge = merge
	} else {
		unite(p.merge, merge)
	}
	p.fns = append(p.fns, fns...)
}

// Joined returns the content of both patches, which must not change while the result is in use. Nor must the result.
func Joined(first, second *Patch) *Patch {
	p := NewPatch()
	p.merge, p.fns, p.lost = joined(first.merge, second.merge), slices.Concat(first.fns, second.fns), first.lost
	if len(first.fns) == 0 {
		p.lost = second.lost
	}
	return p
}

// Restore puts back taken changes that could not be sent. Later changes take precedence.
func (p *Patch) Restore(taken *Patch) {
	merge, fns, lost := taken.Tree(), taken.Fns(), taken.lostAnswer()
	p.mu.Lock()
	defer p.mu.Unlock()
	unite(merge, p.merge)
	p.merge, p.fns, p.lost = merge, append(fns, p.fns...), lost
}

// Unsent returns what remains of the patch if something of a larger one remains, which began with it:
// the fields that were not accepted, and the transformations. Nothing remains if that is nil.
func (p *Patch) Unsent(remaining *Patch) *Patch {
	out := p.UnsentFields(remaining)
	if remaining == nil {
		return out
	}
	fns, lost := remaining.Fns(), remaining.lostAnswer()
	out.fns = fns[:min(len(fns), len(p.Fns()))]
	if lost != nil && len(out.fns) > 0 {
		out.lost = &lostAnswer{call: lost.call, fns: min(lost.fns, len(out.fns)), status: lost.status}
	}
	return out
}

// UnsentFields is [Patch.Unsent] without the transformations.
func (p *Patch) UnsentFields(remaining *Patch) *Patch {
	out := NewPatch()
	if remaining == nil {
		return out
	}
	unsent := remaining.Tree()
	for field, value := range p.Tree() {
		if _, remains := unsent[field]; remains {
			out.Set(object.Path{field}, value)
		}
	}
	return out
}

// TakeFns moves the transformations into a new patch.
func (p *Patch) TakeFns() *Patch {
	taken := NewPatch()
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.fns, taken.lost = p.fns, p.lost
	p.fns, p.lost = nil, nil
	return taken
}

// DropFns drops the transformations.
func (p *Patch) DropFns() { p.TakeFns() }

func place(merge map[string]any, path object.Path, value any) {
	if len(path) == 0 {
		return
	}
	for _, key := range path[:len(path)-1] {
		next, ok := merge[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			merge[key] = next
		}
		merge = next
	}
	merge[path[len(path)-1]] = value
}

func discard(merge map[string]any, path object.Path) {
	if len(path) == 0 {
		return
	}
	if len(path) == 1 {
		delete(merge, path[0])
		return
	}
	next, ok := merge[path[0]].(map[string]any)
	if !ok {
		return
	}
	discard(next, path[1:])
	if len(next) == 0 {
		delete(merge, path[0])
	}
}

// joined returns a merge patch with the effect of both. It shares their values.
func joined(first, second map[string]any) map[string]any {
	out := maps.Clone(first)
	for key, value := range second {
		mine, isMap := out[key].(map[string]any)
		theirs, areMaps := value.(map[string]any)
		if isMap && areMaps {
			value = joined(mine, theirs)
		}
		if out == nil {
			out = make(map[string]any, len(second))
		}
		out[key] = value
	}
	return out
}

// unite merges another merge patch into the first one.
func unite(merge, other map[string]any) {
	for key, value := range other {
		mine, isMap := merge[key].(map[string]any)
		theirs, areMaps := value.(map[string]any)
		if isMap && areMaps {
			unite(mine, theirs)
			continue
		}
		merge[key] = value
	}
}
