// Package manifest renders children of an object from YAML files, which are embedded in the operator's program. See
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
// A manifest refers to fields of the object and to variables of the program:
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
// A value that consists of a reference becomes the value of the field, with its type: a number, a list, a map. Within a
// longer text, a reference becomes text: a text, a number or a boolean; null becomes the empty text, and a list or a map is an
// error. A field whose value is null is left out. Values never change the structure of a manifest, so they need no quotes.
// Within { } and [ ], YAML needs quotes around references.
//
// A reference has a [kopf.Path] that begins with a lower-case letter and has at least two names, apart from spec, kind and
// apiVersion. All other texts of the form ${...} are errors; $${HOME} stands for the text ${HOME}. References cannot be
// names of fields, nor be in apiVersion and kind.
//
// Manifests have no conditions and no loops: use several sets, and Go.
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

// Vars are the values of ${vars.NAME} in manifests. A value is anything that JSON can express, such as a text, a number, or a
// struct; ${vars.NAME.FIELD} is a field of it.
type Vars map[string]any

// New parses the files that match the patterns of [fs.Glob], in the order of the patterns, and of names within a pattern.
// Without patterns, it parses all files, also in folders. A file may have several documents, each of one object.
//
// Errors in the files are registration errors of r, each with the file and line of the manifest and of the call: malformed YAML, a
// repeated key, a manifest without kind or apiVersion, a malformed reference, or a pattern without a file. The operator then does
// not start. New never returns nil; after errors, [Set.Render] returns them.
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

// Render returns an object for each manifest, in the order of [New]. All are new *unstructured.Unstructured, which share
// nothing with the owner or with vars. They have the names and namespaces of the manifests, and no owner references. The owner is
// the Body of a request, or the result of [kopf.ObjectOf]; with a nil owner, manifests can refer to variables only.
//
// The causes of errors are a field that the owner lacks, a variable that vars lack, a list or a map within a text, and a
// variable that JSON cannot express. An error names each reference that has no usable value, with file and line, and Render
// returns no objects. Errors are [kopf.PermanentError], since a retry would fail again. If a controller adds the missing field
// to the status later, wrap the error in a [kopf.TemporaryError], because a change of the status is no update for handlers.
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

// Checksum returns 16 hexadecimal digits that differ if the values do. In an annotation of a pod template, it replaces the
// pods when their configuration changes. Values with the same JSON have the same checksum, in any order of keys. It panics for
// values that JSON cannot express, such as functions.
func Checksum(values ...any) string { return children.Checksum(values...) }

// NameOf joins parts with "-" to a name that is valid for objects of all kinds: at most 52 lower-case letters, digits and "-".
// If it has to cut the name or to replace characters, it appends a hash of the parts, so that different texts have different
// names. The same parts always have the same name.
func NameOf(parts ...string) string { return children.NameOf(parts...) }
