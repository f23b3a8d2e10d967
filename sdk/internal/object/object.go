package object

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"
)

// Object is a version of a Kubernetes object. It is immutable and safe for concurrent use.
type Object struct {
	// Raw is the JSON text. It has no metadata.managedFields, unless the parse options keep them.
	Raw []byte

	APIVersion      string
	Kind            string
	Namespace       string // empty for cluster-scoped objects
	Name            string
	UID             string
	ResourceVersion string
	Generation      int64     // zero where the resource has none
	Created         time.Time // zero if unknown
	Deleting        bool      // has a deletionTimestamp

	tree atomic.Pointer[map[string]any]
}

// Tree returns the decoded text. The tree is shared by all callers until [Object.Forget], and
// must not be modified.
func (o *Object) Tree() (map[string]any, error) {
	if tree := o.tree.Load(); tree != nil {
		return *tree, nil
	}
	decoded, err := decodeStrict(o.Raw)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", o, err)
	}
	tree, ok := decoded.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("decode %s: %w", o, errSyntax)
	}
	// Goroutines may decode concurrently; all share the first tree.
	if !o.tree.CompareAndSwap(nil, &tree) {
		if first := o.tree.Load(); first != nil {
			return *first, nil
		}
	}
	return tree, nil
}

// Member returns the text of a top-level member, such as "status"; nil if it is absent. It is
// cheaper than [Object.Tree].
func (o *Object) Member(name string) []byte { return Member(o.Raw, name) }

// DropTree drops the decoded tree, so that the object takes no more memory than its text. It reports whether there was one.
func (o *Object) DropTree() bool { return o.tree.Swap(nil) != nil }

// String returns "Kind namespace/name", for logs and errors.
func (o *Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Detached returns a copy that shares the text but not the decoded tree, for short-lived use
// of an object that is kept for long.
func (o *Object) Detached() *Object {
	return &Object{
		Raw: o.Raw, APIVersion: o.APIVersion, Kind: o.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
		ResourceVersion: o.ResourceVersion, Generation: o.Generation, Created: o.Created, Deleting: o.Deleting,
	}
}

// Stub returns an object with nothing but its identity.
func Stub(apiVersion, kind, namespace, name, uid, resourceVersion string) *Object {
	metadata := map[string]string{"name": name}
	for key, value := range map[string]string{"namespace": namespace, "uid": uid, "resourceVersion": resourceVersion} {
		if value != "" {
			metadata[key] = value
		}
	}
	raw, _ := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata})
	return &Object{Raw: raw, APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: uid, ResourceVersion: resourceVersion}
}
