package handlers

import "reflect"

// Views are the typed views of one version of an object that filters have decoded, so that each type
// is decoded once. They must be used by one goroutine.
type Views struct {
	Memo any // memo that the handlers of the object share

	seen map[reflect.Type]any
}

// Of returns the view of a type. The first time, it calls the function to make the view.
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
