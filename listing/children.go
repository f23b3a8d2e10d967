package listing

import (
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// SelectChildren returns the children whose parents are selected, in the given order. The parent of an orphan is unknown, except for
// its resource; instead of the parent's namespace, the orphan's own namespace counts.
func SelectChildren(s *inspect.Snapshot, children []inspect.Child, selection Selection) []inspect.Child {
	var chosen []inspect.Child
	named := resourcesOf(s)
	for i := range children {
		c := &children[i]
		parent := inspect.Object{Ref: c.Parent, Kind: named[c.Parent.Resource].Kind, Short: named[c.Parent.Resource].Short}
		orphan := c.Parent.Name == ""
		if orphan {
			parent.Namespace = c.Namespace
		}
		if (orphan || !selection.Orphans) && selection.Has(&parent) {
			chosen = append(chosen, *c)
		}
	}
	return chosen
}

// WriteChildren writes a list of children. The snapshot has the kinds of their parents.
func (w *Writer) WriteChildren(s *inspect.Snapshot, children []inspect.Child) error {
	wide := w.format == Wide
	t := table{header: headers(Children, wide)}
	named := resourcesOf(s)
	for i := range children {
		c := &children[i]
		t.add("", c, childCells(c, named[c.Parent.Resource].Kind, w.now(), wide)...)
	}
	_, err := w.write(t)
	return err
}

// Object is an object with its children, as JSON and YAML have it.
type Object struct {
	*inspect.Object
	Children *ObjectChildren `json:"children"`
}

// ObjectChildren are the children of an object, with their exact numbers.
type ObjectChildren struct {
	inspect.ChildCounts
	Items []inspect.Child `json:"items"`
}

// WriteWithChildren is [Writer.Write] for [Resources], as JSON or YAML. Objects that have children, or a reconcile handler that was
// called, have a list of children.
func (w *Writer) WriteWithChildren(s *inspect.Snapshot, children []inspect.Child) (entries int, err error) {
	t := tableOf(s, w.kind, w.selection, w.now(), false)
	of := map[inspect.Ref][]inspect.Child{}
	for _, c := range children {
		of[c.Parent] = append(of[c.Parent], c)
	}
	for i := range t.rows {
		o, ok := t.rows[i].item.(*inspect.Object)
		if !ok || o.Children == nil {
			continue
		}
		items := of[o.Ref]
		if items == nil {
			items = []inspect.Child{}
		}
		t.rows[i].item = &Object{Object: o, Children: &ObjectChildren{*o.Children, items}}
	}
	return w.write(t)
}

func childCells(c *inspect.Child, parentKind string, now time.Time, wide bool) []string {
	parent := "–" // an orphan
	if p := c.Parent; p.Name != "" {
		if p.Namespace == c.Namespace {
			p.Namespace = ""
		}
		parent = parentKind + "/" + explain.QualifiedName(p)
	}
	cells := []string{parent, c.Kind, c.Namespace, c.Name, explain.ChildWord(c).Text, age(c.Since, now), explain.ChildDetail(c)}
	if wide {
		cells = append(cells, string(c.Result), c.Applied)
	}
	return cells
}

// resourcesOf returns the resources of an operator by their keys. It also includes the resources of known objects, because the
// operator may no longer serve them.
func resourcesOf(s *inspect.Snapshot) map[string]inspect.Resource {
	all := map[string]inspect.Resource{}
	for _, o := range s.Objects {
		all[o.Resource] = inspect.Resource{Kind: o.Kind, Short: o.Short}
	}
	for i := range s.Served {
		all[s.Served[i].Key] = s.Served[i]
	}
	return all
}
