package engine

import "reflect"

// Views are what filters have decoded of an object in one cycle, so that they need
// not decode it each on their own. They are for one goroutine.
type Views struct {
	Memo any // what the object's handlers share

	seen map[reflect.Type]any
}

// Of returns the view of a type, and makes it the first time.
func (v *Views) Of(t reflect.Type, view func() any) any {
	if seen, ok := v.seen[t]; ok {
		return seen
	}
	made := view()
	if v.seen == nil {
		v.seen = map[reflect.Type]any{}
	}
	v.seen[t] = made
	return made
}
