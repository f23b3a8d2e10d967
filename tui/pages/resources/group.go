package resources

import (
	"fmt"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Group is the grouping of the objects.
type Group string

// The groups.
const (
	NotGrouped Group = ""
	ByKind     Group = "kind"
	ByOwner    Group = "owner" // children beneath their owners, as a tree
)

var groupNames = map[Group]string{NotGrouped: "not grouped", ByKind: "grouped by kind", ByOwner: "children beneath their owners"}

// row is an object, or the head of a group.
type row struct {
	object *inspect.Object
	depth  int // depth in the tree of owners
	head   string
}

// rowsByKind returns the rows of objects with a head for each kind.
func rowsByKind(rows []row, objects []*inspect.Object) []row {
	kinds := map[string][]*inspect.Object{}
	var names []string
	for _, o := range objects {
		if kinds[o.Resource] == nil {
			names = append(names, o.Resource)
		}
		kinds[o.Resource] = append(kinds[o.Resource], o)
	}
	for _, name := range names {
		rows = append(rows, row{head: fmt.Sprintf("%s  %s", name, explain.Thousands(len(kinds[name])))})
		for _, o := range kinds[name] {
			rows = append(rows, row{object: o})
		}
	}
	return rows
}

// tree holds the objects by their owners.
type tree struct {
	rows     []row
	children map[string][]*inspect.Object // children by the UID of the owner
	placed   map[*inspect.Object]bool
}

// rowsByOwner returns the rows of objects as a tree. Children whose owner is not among the objects come last, beneath
// a head that names the owner.
func rowsByOwner(rows []row, objects []*inspect.Object) []row {
	present := make(map[string]bool, len(objects))
	for _, o := range objects {
		present[o.UID] = true
	}
	t := tree{rows, map[string][]*inspect.Object{}, make(map[*inspect.Object]bool, len(objects))}
	var roots []*inspect.Object
	var absent []*inspect.Owner
	for _, o := range objects {
		owner := ownerOf(o, present)
		if owner == nil {
			roots = append(roots, o)
			continue
		}
		if !present[owner.UID] && t.children[owner.UID] == nil {
			absent = append(absent, owner)
		}
		t.children[owner.UID] = append(t.children[owner.UID], o)
	}
	for _, o := range roots {
		t.place(o, 0)
	}
	for _, owner := range absent {
		t.rows = append(t.rows, row{head: owner.Kind + " " + owner.Name + "  not in this list"})
		for _, o := range t.children[owner.UID] {
			t.place(o, 1)
		}
	}
	for _, o := range objects {
		t.place(o, 0) // objects that own each other have no root
	}
	return t.rows
}

// place adds the rows of an object and its children, unless the object already has a row.
func (t *tree) place(o *inspect.Object, depth int) {
	if t.placed[o] {
		return
	}
	t.placed[o] = true
	t.rows = append(t.rows, row{object: o, depth: depth})
	for _, child := range t.children[o.UID] {
		t.place(child, depth+1)
	}
}

// ownerOf returns the owner below which an object is shown, or nil: preferably an owner that is in the list, then the
// controller, then the first owner.
func ownerOf(o *inspect.Object, present map[string]bool) *inspect.Owner {
	var best *inspect.Owner
	rank := -1
	for i := range o.Owners {
		r := 0
		if o.Owners[i].Controller {
			r++
		}
		if present[o.Owners[i].UID] {
			r += 2
		}
		if r > rank && o.Owners[i].UID != o.UID {
			best, rank = &o.Owners[i], r
		}
	}
	return best
}
