package object

import (
	"fmt"
	"sync/atomic"
	"time"
)

// Object is one version of one Kubernetes object. It never changes once parsed and may
// be shared between goroutines.
type Object struct {
	// Raw is the JSON text, without metadata.managedFields unless they were asked for.
	Raw []byte

	APIVersion      string
	Kind            string
	Namespace       string // empty for objects of the cluster
	Name            string
	UID             string
	ResourceVersion string
	Generation      int64     // zero where the resource has none
	Created         time.Time // zero if the object does not tell
	Deleting        bool      // there is a deletionTimestamp

	tree atomic.Pointer[map[string]any]
}

// Tree decodes the text. The tree is kept for the next caller until [Object.Forget],
// and must not be changed by anybody.
func (o *Object) Tree() (map[string]any, error) {
	if tree := o.tree.Load(); tree != nil {
		return *tree, nil
	}
	decoded, err := DecodeJSONStrict(o.Raw)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", o, err)
	}
	tree, ok := decoded.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decode %s: %w", o, ErrSyntax)
	}
	// Two goroutines may decode at the same time; all callers then share the first tree.
	if !o.tree.CompareAndSwap(nil, &tree) {
		if first := o.tree.Load(); first != nil {
			return *first, nil
		}
	}
	return tree, nil
}

// Member returns the text of a member of the object, such as its status; nil if there is
// none. It is cheaper than the whole tree for those who need nothing else.
func (o *Object) Member(name string) []byte { return memberOf(o.Raw, name) }

func memberOf(text []byte, name string) []byte {
	s := &rawScanner{data: text}
	more, err := s.enter()
	for err == nil && more {
		var key, value []byte
		if key, err = s.member(); err != nil {
			break
		}
		if value, err = s.value(); err != nil {
			break
		}
		if string(key) == name {
			return value
		}
		more, err = s.after('}')
	}
	return nil // the object was scanned to its end when it came
}

// Forget drops the decoded tree: an object that is only kept for later costs its text.
// Those who hold the tree keep it.
func (o *Object) Forget() { o.tree.Store(nil) }

// String names the object for logs and errors: "Kind namespace/name".
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}
