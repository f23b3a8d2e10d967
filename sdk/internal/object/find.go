package object

import "fmt"

// huge is the size from which a text is too large for its tree, in bytes: by default, Kubernetes stores 1.5 MiB at most, so
// only admission reviews have such objects.
const huge = 2 << 20

// Huge reports whether the object is too large to decode: the tree may take sixty times as much memory as the text.
// Read its fields with [Object.Find].
func (o *Object) Huge() bool { return len(o.Raw) >= huge }

// Find returns the value of a field as [Lookup] does in the [Object.Tree], with the same errors. It decodes nothing else, unless
// there is a tree already.
func (o *Object) Find(p Path) (any, error) {
	if len(p) == 0 || o.tree.Load() != nil {
		tree, err := o.Tree()
		if err != nil {
			return nil, err
		}
		v, _ := Lookup(tree, p)
		return v, nil
	}
	v, err := findIn(o.Raw, p)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", o, err)
	}
	return v, nil
}

func findIn(text []byte, p Path) (any, error) {
	d := decoder{scanner: scanner{text: text}, strict: true}
	if d.peek() != '{' {
		return nil, errSyntax
	}
	v := d.find(p, 0)
	if d.peek(); d.pos < len(d.text) {
		d.fail("more than one value")
	}
	if err := d.err(); err != nil {
		return nil, err
	}
	return v, nil
}

// find decodes the field of the value that begins here, and checks the rest.
func (d *decoder) find(p Path, depth int) (found any) {
	if len(p) == 0 {
		return d.decode(depth)
	}
	switch d.peek() {
	case '{':
		key := mapKey(p[0])
		for more := d.enter('{', '}'); more; more = d.after('}') {
			same := d.decodeKey() == key
			d.colon()
			if same {
				found = d.find(p[1:], depth+1) // the last one of repeated keys counts
			} else {
				d.weigh(depth + 1)
			}
		}
	case '[':
		index, ok := indexOf(p[0])
		at := 0
		for more := d.enter('[', ']'); more; more = d.after(']') {
			if ok && at == index {
				found = d.find(p[1:], depth+1)
			} else {
				d.weigh(depth + 1)
			}
			at++
		}
	default:
		d.weigh(depth)
	}
	return found
}
