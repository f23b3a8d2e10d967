package state

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// foreignFinalizers are finalizers with which Kubernetes controls how objects are deleted.
var foreignFinalizers = []string{"kubernetes", "orphan", "foregroundDeletion"}

// CheckFinalizer returns an error if the API server would reject the name of a finalizer, or if it is a finalizer of
// Kubernetes itself.
func CheckFinalizer(name string) error {
	switch wrong := validation.IsQualifiedName(name); {
	case len(wrong) > 0:
		return fmt.Errorf("%q is not a valid finalizer name: %s", name, strings.Join(wrong, "; "))
	case slices.Contains(foreignFinalizers, name):
		return fmt.Errorf("%q is a finalizer of Kubernetes itself; use a name such as %s", name, DefaultFinalizer)
	}
	return nil
}

// CheckNames returns an error if the name of an annotation of the storages is invalid, or if the progress of a handler has
// the same annotation as another value. Conflicts between two handlers depend on their resources: see
// [handlers.Set.Conflicts].
func CheckNames(progress ProgressStorage, base DiffBaseStorage, ids []string) error {
	var errs []error
	taken := map[string]string{}
	check := func(prefix string, v1 bool, key, what string) {
		for _, name := range annotationKeys(prefix, v1, key, nil) {
			if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
				errs = append(errs, fmt.Errorf("%s is stored in an annotation with the invalid name %q: %s", what, name, strings.Join(wrong, "; ")))
			}
			if other, ok := taken[name]; ok && other != what {
				errs = append(errs, fmt.Errorf("the annotation %s is for %s as well as for %s; use different names", name, other, what))
			}
		}
	}
	take := func(prefix string, v1 bool, key, what string) {
		check(prefix, v1, key, what)
		for _, name := range annotationKeys(prefix, v1, key, nil) {
			taken[name] = what
		}
	}
	eachDiffBase(base, func(s *AnnotationsDiffBase) { take(s.Prefix, s.V1, s.Key, lastHandled) })
	eachProgress(progress, func(s *AnnotationsProgress) { take(s.Prefix, s.V1, s.TouchKey, "touching the object") })
	eachProgress(progress, func(s *AnnotationsProgress) {
		for _, id := range ids {
			check(s.Prefix, s.V1, id, progressOf(id))
		}
	})
	return errors.Join(errs...)
}

func eachDiffBase(storage DiffBaseStorage, do func(*AnnotationsDiffBase)) {
	switch s := storage.(type) {
	case *AnnotationsDiffBase:
		do(s)
	case MultiDiffBase:
		for _, one := range s {
			eachDiffBase(one, do)
		}
	}
}

func eachProgress(storage ProgressStorage, do func(*AnnotationsProgress)) {
	switch s := storage.(type) {
	case *AnnotationsProgress:
		do(s)
	case MultiProgress:
		for _, one := range s {
			eachProgress(one, do)
		}
	}
}
