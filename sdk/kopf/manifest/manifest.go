// Package manifest renders children of an object from YAML files that are embedded in the operator's binary. See
// [Secondary resources].
//
//	//go:embed *.yaml
//	var files embed.FS
//
//	func Register(r *kopf.Registry) {
//		o := &operator{children: manifest.New(r, files)}
//		kopf.OnCreate(r, apps, o.create)
//	}
//
// # References
//
// A manifest refers to fields of the object, and to the variables that [Set.Render] gets:
//
//	apiVersion: apps/v1
//	kind: Deployment
//	spec:
//	  replicas: ${spec.replicas}           # a number, as in the object
//	  template:
//	    metadata:
//	      annotations: {checksum: "${vars.checksum}"}
//	    spec:
//	      containers:
//	      - image: registry.example.com/${spec.image}:${spec.tag}
//
// A string that is a single reference becomes the value of the field, with the type of the field, such as a number, a list or a
// map. Within a longer string, the text of a string, number or boolean replaces the reference. There, null becomes the empty
// string, and a list or a map is an error. A field whose value is null is left out. Values never change the structure of a
// manifest, so they need no quotes. But within { } and [ ], YAML needs quotes around references.
//
// A reference is a [kopf.Path] that begins with a lower-case letter and has at least two names; spec, kind and apiVersion need
// only one. All other strings of the form ${...} are errors; $${HOME} stands for the string ${HOME}. References cannot be
// names of fields, and cannot be in apiVersion and kind.
//
// Manifests have no conditions and no loops: put optional objects into separate sets, and write loops in Go.
//
// [Secondary resources]: https://github.com/kopf-dev/kopf/blob/main/docs/secondary-resources.md
package manifest

import (
	"errors"
	"io/fs"
	"runtime"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/children"
	"github.com/kopf-dev/kopf/sdk/internal/manifests"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Set is the manifests of some files, made by [New]. It is safe for concurrent use. The zero value renders an error.
type Set struct {
	manifests *manifests.Set // nil after an error of New
	err       error
}

// Vars are the values of ${vars.NAME} in manifests. A value is anything that JSON can express, such as a string, a number or a
// struct; ${vars.NAME.FIELD} refers to a field of a struct or a map.
type Vars map[string]any

// New parses the files that match the patterns of [fs.Glob], in the order of the patterns, and in the order of names within a
// pattern. Without patterns, it parses all files, including files in subdirectories. A file may have several YAML documents, each
// with one object.
//
// Errors in the files are registration errors of r, so the operator does not start. Each error has the file and line of the
// manifest, and of the call of New. The causes are malformed YAML, a repeated key, a manifest without kind or apiVersion, and a
// malformed reference. A pattern that matches no file is an error too. New never returns nil; after errors, [Set.Render] returns
// them.
func New(r *kopf.Registry, files fs.FS, patterns ...string) *Set {
	_, file, line, _ := runtime.Caller(1)
	set, problems := manifests.Parse(files, patterns...)
	if r == nil {
		problems = append(problems, errors.New("the registry is nil"))
	}
	for _, problem := range problems {
		bridge.AddError(r, file, line, "manifest.New", problem)
	}
	return &Set{manifests: set, err: errors.Join(problems...)}
}

// Render returns an object for each manifest, in the order of [New]. The objects are new *unstructured.Unstructured, which share
// no memory with the owner or with vars. They have the names and namespaces of the manifests, and no owner references. The owner is
// the Body of a request, or the result of [kopf.ObjectOf]; with a nil owner, manifests can refer to variables only.
//
// Render returns an error and no objects if the owner lacks a field, or vars lack a variable. It also returns an error for a list
// or a map within a longer string, and for a variable that JSON cannot express. The error names each such reference with file and
// line. It is a [kopf.PermanentError], because a retry would fail again. If a controller adds the missing field to the status
// later, wrap the error in a [kopf.TemporaryError], because a change of the status calls no update handler.
func (s *Set) Render(owner *kopf.Object, vars Vars) ([]metav1.Object, error) {
	switch {
	case s == nil || s.manifests == nil && s.err == nil:
		return nil, kopf.Permanentf("render manifests: the set has no files; make it with manifest.New")
	case s.err != nil:
		return nil, kopf.Permanentf("render manifests: %w: %w", kopf.ErrRegistration, s.err)
	}
	tree, _ := owner.Get("").(map[string]any)
	if tree == nil {
		if err := owner.Decode("", &tree); err != nil { // Get has no error
			return nil, kopf.Permanentf("render manifests: decode the owner: %w", err)
		}
	}
	trees, err := s.manifests.Render(tree, vars)
	if err != nil {
		return nil, kopf.PermanentError{Err: err}
	}
	objects := make([]metav1.Object, len(trees))
	for i, tree := range trees {
		objects[i] = &unstructured.Unstructured{Object: tree}
	}
	return objects, nil
}

// Checksum returns 16 hexadecimal digits that change with the values. In an annotation of a pod template, a new checksum makes
// the controller replace the pods. Values with the same JSON have the same checksum; the order of keys does not matter. Checksum
// panics for values that JSON cannot express, such as functions.
func Checksum(values ...any) string { return children.Checksum(values...) }

// NameOf joins parts with "-" to a name that is valid for objects of all kinds: at most 52 lower-case letters, digits and "-".
// If it has to cut the name or to replace characters, it appends a hash of the parts, so that different parts have different
// names. The same parts always have the same name.
func NameOf(parts ...string) string { return children.NameOf(parts...) }
