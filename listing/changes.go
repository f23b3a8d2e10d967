package listing

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// changes are the changes of the operator since rows were last written. Objects are kept only until they are written,
// because there may be thousands of objects while a message has one.
type changes struct {
	others  inspect.Replica // everything but the objects
	objects map[inspect.Ref]*inspect.Object
	touched map[string]bool // the groups of rows that may have changed
	whole   bool            // objects has all of them

	written map[string]map[string]written // hashes of the written rows, by their groups and keys
	header  bool                          // was written

	compared int // the number of rows that were compared
}

// written is a row that was written.
type written struct {
	row  row
	text string // item as JSON
}

// add adds a message of the operator.
func (c *changes) add(m inspect.Message) {
	if c.objects == nil {
		c.objects, c.touched = map[inspect.Ref]*inspect.Object{}, map[string]bool{}
	}
	if m.Snapshot != nil {
		clear(c.objects)
		c.whole = true
		c.put(m.Snapshot.Objects)
		rest := *m.Snapshot
		rest.Objects = nil
		m.Snapshot = &rest
	}
	for _, ref := range m.Gone {
		delete(c.objects, ref)
		c.touched[groupOf(ref)] = true
	}
	c.put(m.Objects)
	m.Objects, m.Gone = nil, nil
	c.others.Apply(m)
}

func (c *changes) put(objects []*inspect.Object) {
	for _, o := range objects {
		if o == nil { // null, which no operator sends
			continue
		}
		c.objects[o.Ref] = o
		c.touched[groupOf(o.Ref)] = true
	}
}

// take returns the state of the operator with only those objects that have changed, and the groups of rows that may have
// changed.
func (c *changes) take(kind Kind) (s *inspect.Snapshot, touched map[string]bool) {
	s = c.others.Snapshot()
	s.Objects = slices.Collect(maps.Values(c.objects))
	touched = c.touched
	if c.whole {
		for group := range c.written {
			touched[group] = true
		}
	}
	if kind != Resources && kind != Daemons {
		touched = map[string]bool{"": true}
	}
	c.objects, c.touched, c.whole = nil, nil, false
	return s, touched
}

// differing returns the rows that are new or changed since they were written, and then the rows of deleted items.
func (c *changes) differing(rows []row, touched map[string]bool) ([]row, error) {
	if c.written == nil {
		c.written = map[string]map[string]written{}
	}
	present := map[string]bool{}
	var differing []row
	for _, r := range rows {
		present[r.key] = true
		c.compared++
		text, err := json.Marshal(r.item)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", r.key, err)
		}
		group := c.written[r.group]
		if group[r.key].text == string(text) {
			continue
		}
		if group == nil {
			group = map[string]written{}
			c.written[r.group] = group
		}
		group[r.key] = written{r, string(text)}
		differing = append(differing, r)
	}
	var gone []row
	for name := range touched {
		group := c.written[name]
		for key, before := range group {
			if !present[key] {
				delete(group, key)
				gone = append(gone, before.row.asGone()...)
			}
		}
		if len(group) == 0 {
			delete(c.written, name)
		}
	}
	slices.SortFunc(gone, func(a, b row) int { return strings.Compare(a.key, b.key) })
	return append(differing, gone...), nil
}

// groupOf returns the group of the rows of an object.
func groupOf(ref inspect.Ref) string {
	return ref.Resource + " " + ref.Namespace + " " + ref.Name + " " + ref.UID
}
