package resources

import (
	"cmp"
	"slices"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Order is the column by which the objects are ordered.
type Order string

// The orders. Objects that are equal in an order are ordered by kind, namespace and name.
const (
	ByName     Order = ""
	ByState    Order = "state"
	ByChildren Order = "children"
	ByHandler  Order = "handler"
	ByNext     Order = "next"
	ByAge      Order = "age"
)

// orders are the orders in the sequence in which the key switches between them.
var orders = []Order{ByName, ByState, ByChildren, ByHandler, ByNext, ByAge}

// orderNames are the names of the orders, and of the reversed orders.
var orderNames = map[Order][2]string{
	ByName:     {"by name", "by name, backwards"},
	ByState:    {"by state, worst first", "by state, best first"},
	ByChildren: {"by children, worst first", "by children, best first"},
	ByHandler:  {"by handler", "by handler, backwards"},
	ByNext:     {"by the next attempt, soonest first", "by the next attempt, latest first"},
	ByAge:      {"by age, youngest first", "by age, oldest first"},
}

// column returns the column of the table by which an order sorts.
func (o Order) column() int {
	switch o {
	case ByState:
		return stateColumn
	case ByChildren:
		return childrenColumn
	case ByHandler:
		return handlerColumn
	case ByNext:
		return nextColumn
	case ByAge:
		return ageColumn
	}
	return nameColumn
}

// keyed is an object with its sort key, which is computed once for each object.
type keyed struct {
	object *inspect.Object
	none   bool // the object has no key, and comes last in both directions
	number int64
	second int64 // decides among equal numbers
	text   string
}

// sorted returns the given objects, which are sorted by name, in another order. If the objects are grouped by
// kind, the objects of a kind stay together.
func sorted(objects []*inspect.Object, order Order, reversed, byKind bool) []*inspect.Object {
	if order == ByName && !reversed {
		return objects
	}
	all := make([]keyed, len(objects))
	for i, o := range objects {
		all[i] = keyOf(o, order)
		if order == ByName {
			all[i].number = int64(i)
		}
	}
	direction := 1
	if reversed {
		direction = -1
	}
	slices.SortStableFunc(all, func(a, b keyed) int {
		switch {
		case byKind && a.object.Resource != b.object.Resource:
			return 0 // the caller groups the objects afterwards
		case a.none != b.none && b.none:
			return -1
		case a.none != b.none:
			return 1
		}
		return direction * cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.second, b.second), cmp.Compare(a.text, b.text))
	})
	result := make([]*inspect.Object, len(all))
	for i := range all {
		result[i] = all[i].object
	}
	return result
}

func keyOf(o *inspect.Object, order Order) keyed {
	k := keyed{object: o}
	switch order {
	case ByState:
		k.number = int64(explain.UrgencyOf(o))
	case ByChildren:
		if c := o.Children; c != nil {
			k.number, k.second = -int64(c.Failed), int64(c.Ready-c.Total)
		}
		k.none = o.Children == nil
	case ByAge:
		k.number = -o.Created.Unix()
	case ByHandler, ByNext:
		h := explain.Active(o)
		switch {
		case h == nil, order == ByNext && h.Next.IsZero():
			k.none = true
		case order == ByNext:
			k.number = h.Next.UnixNano()
		default:
			k.text = h.ID
		}
	}
	return k
}
