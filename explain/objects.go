package explain

import (
	"cmp"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// objectOrder compares objects by kind as served, by namespace, by name.
type objectOrder map[string]int // the place of a kind, by the key of its resource

func newObjectOrder(served []inspect.Resource) objectOrder {
	order := make(objectOrder, len(served))
	for i := range served {
		order[served[i].Key] = i
	}
	return order
}

func (k objectOrder) compare(x, y *inspect.Object) int { return k.compareRefs(&x.Ref, &y.Ref) }

func (k objectOrder) compareRefs(x, y *inspect.Ref) int {
	if x.Resource != y.Resource {
		return cmp.Or(cmp.Compare(k[x.Resource], k[y.Resource]), cmp.Compare(x.Resource, y.Resource))
	}
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
}

// Sorted returns the objects of a snapshot by kind as served, by namespace, by name, in a slice of the caller.
func Sorted(s *inspect.Snapshot) []*inspect.Object {
	objects := slices.Clone(s.Objects)
	slices.SortFunc(objects, newObjectOrder(s.Served).compare)
	return objects
}

// search returns the index of the first object in a sorted list that is not before the one with the reference.
func (k objectOrder) search(objects []*inspect.Object, ref *inspect.Ref) int {
	i, _ := slices.BinarySearchFunc(objects, ref, func(o *inspect.Object, ref *inspect.Ref) int { return k.compareRefs(&o.Ref, ref) })
	return i
}

// difference has the objects to remove from a list and to add to it. A changed object is in both lists, in its two versions.
type difference struct{ without, with []*inspect.Object }

// differences returns the difference between two lists of a replica, in which most objects keep their places. It compares
// only the pointers.
func differences(before, after []*inspect.Object) (c difference) {
	common := min(len(before), len(after))
	for i := range common {
		if before[i] != after[i] {
			c.without, c.with = append(c.without, before[i]), append(c.with, after[i])
		}
	}
	c.without = append(c.without, before[common:]...)
	c.with = append(c.with, after[common:]...)
	return c
}

// apply returns a sorted list with a change. It returns false if the list lacks an object that is to be removed.
func (k objectOrder) apply(sorted []*inspect.Object, c difference) (changed []*inspect.Object, ok bool) {
	places := make([]int, 0, len(c.without))
	for _, o := range c.without {
		i := k.search(sorted, &o.Ref)
		for i < len(sorted) && sorted[i] != o && SameObject(sorted[i].Ref, o.Ref) {
			i++ // another object that had the name before
		}
		if i == len(sorted) || sorted[i] != o {
			return nil, false
		}
		places = append(places, i)
	}
	slices.Sort(places)
	kept := make([]*inspect.Object, 0, len(sorted))
	from := 0
	for _, i := range places {
		kept = append(kept, sorted[from:i]...)
		from = i + 1
	}
	kept = append(kept, sorted[from:]...)

	more := slices.Clone(c.with)
	slices.SortFunc(more, k.compare)
	changed = make([]*inspect.Object, 0, len(kept)+len(more))
	from = 0
	for _, o := range more {
		i := k.search(kept, &o.Ref)
		changed = append(append(changed, kept[from:i]...), o)
		from = i
	}
	return append(changed, kept[from:]...), true
}

// Derived keeps one value for each object of a state, derived from the object. Values are derived again only for objects that
// have changed. The zero value is empty.
type Derived[T any] struct {
	Values []T // values in the order of the objects

	objects []*inspect.Object
	spare   []T
	derived int // number of derived values, for tests
}

// Update derives the values for the objects of a state. It calls derive only for objects that are new or have changed.
func (d *Derived[T]) Update(s *State, derive func(*inspect.Object) T) {
	values := d.spare[:0]
	k := 0 // index of the previous object that is not before the current one
	for _, o := range s.Objects {
		for k < len(d.objects) && d.objects[k] != o && s.order.compare(d.objects[k], o) < 0 {
			k++
		}
		if k < len(d.objects) && d.objects[k] == o {
			values = append(values, d.Values[k])
			k++
			continue
		}
		d.derived++
		values = append(values, derive(o))
	}
	d.Values, d.spare, d.objects = values, d.Values, s.Objects
}

// Reset forgets all values. Call it when the function that derives the values changes.
func (d *Derived[T]) Reset() { d.Values, d.objects = d.Values[:0], nil }
