// Package patch collects what is to be changed on an object and plans the requests
// that change it.
package patch

import (
	"sync"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Fn transforms a copy of an object in place. It may run again on a newer state of
// the object, so it has to look at what it is given rather than at what it remembers.
type Fn func(object map[string]any) error

// Patch is a change of an object in the making: a merge patch (RFC 7386), and
// functions for what a merge patch cannot express, such as adding to a list. The
// functions run on the freshest known state of the object; what they change is sent
// as a JSON patch (RFC 6902) that applies to that very version of it or not at all.
//
// A patch can be used by several goroutines.
type Patch struct {
	mu    sync.Mutex
	merge map[string]any
	fns   []Fn
}

// NewPatch returns an empty patch.
func NewPatch() *Patch {
	return new(Patch)
}

// Set assigns a field. A nil value deletes the field from the object. Whatever the
// patch has in the way of the field and is no map is replaced by one. The root cannot
// be set: see [Patch.Merge].
func (p *Patch) Set(path object.Path, value any) {
	p.Edit(func(merge map[string]any) {
		place(merge, path, value)
	})
}

// Remove deletes a field from the object.
func (p *Patch) Remove(path object.Path) {
	p.Set(path, nil)
}

// Discard forgets what the patch does to a field, with the parents that hold nothing
// else. The field of the object remains as it is.
func (p *Patch) Discard(path object.Path) {
	p.Edit(func(merge map[string]any) {
		discard(merge, path)
	})
}

// Merge adds another merge patch. The maps of both are united, recursively; all else
// is overwritten.
func (p *Patch) Merge(other map[string]any) {
	p.Edit(func(merge map[string]any) {
		unite(merge, object.CloneMap(other))
	})
}

// Edit gives access to the merge patch itself. The map must not be kept.
func (p *Patch) Edit(edit func(merge map[string]any)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.merge == nil {
		p.merge = map[string]any{}
	}
	edit(p.merge)
}

// Lookup returns what the merge patch does to a field; nil and true if it deletes it.
func (p *Patch) Lookup(path object.Path) (any, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return object.Lookup(p.merge, path)
}

// AddFn adds a transformation. They run in the order in which they were added.
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

// Empty tells if there is nothing in the patch.
func (p *Patch) Empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.merge) == 0 && len(p.fns) == 0
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

// Take moves all that is in the patch into another one, and leaves it empty.
func (p *Patch) Take() *Patch {
	taken := NewPatch()
	p.mu.Lock()
	defer p.mu.Unlock()
	taken.merge, taken.fns = p.merge, p.fns
	p.merge, p.fns = nil, nil
	return taken
}

// Append adds all of another patch to this one.
func (p *Patch) Append(other *Patch) {
	merge, fns := other.Tree(), other.Fns()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.merge == nil {
		p.merge = merge
	} else {
		unite(p.merge, merge)
	}
	p.fns = append(p.fns, fns...)
}

// Restore puts back what was taken and could not be sent. What has come since counts more.
func (p *Patch) Restore(taken *Patch) {
	merge, fns := taken.Tree(), taken.Fns()
	p.mu.Lock()
	defer p.mu.Unlock()
	unite(merge, p.merge)
	p.merge, p.fns = merge, append(fns, p.fns...)
}

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

// unite moves the values of another merge patch into the first one.
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
