package kopf

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// The defaults of the built-in storages, compatible with Kopf for Python.
const (
	defaultStoragePrefix = "kopf.zalando.org"
	defaultStorageName   = "kopf"
	defaultTouchKey      = "touch-dummy"
	defaultDiffBaseKey   = "last-handled-configuration"
)

// AnnotationsProgress is a [ProgressStorage] in annotations, one for each handler. The zero value is
// usable. It is safe for concurrent use.
type AnnotationsProgress struct {
	Prefix   string // of the annotations' names; defaults to "kopf.zalando.org"
	TouchKey string // name of the annotation that is changed to cause an event; defaults to "touch-dummy"
	Verbose  bool   // store empty fields of records too; defaults to false
	NoV1     bool   // do not write the names that older versions of Kopf use for long ids; defaults to false
}

// StatusProgress is a [ProgressStorage] in the status. The zero value is usable. It is safe for
// concurrent use. A malformed field is a panic at the start of the operator.
type StatusProgress struct {
	Name       string // replaces {name} in the fields; defaults to "kopf"
	Field      string // path of the records; defaults to "status.{name}.progress"
	TouchField string // path of the field that is changed to cause an event; defaults to "status.{name}.dummy"
}

// SmartProgress is the default [ProgressStorage]. It stores progress in annotations, reads also what older
// operators stored in the status, and removes that. The zero value is usable.
type SmartProgress struct {
	Annotations AnnotationsProgress
	Status      StatusProgress
}

// MultiProgress is a [ProgressStorage] that writes to all its storages and reads from the first that has a
// record. It serves to migrate from one storage to another.
type MultiProgress []ProgressStorage

// AnnotationsDiffBase is a [DiffBaseStorage] in an annotation, the default. The zero value is usable. It is
// safe for concurrent use. A malformed ignored field is a panic at the start of the operator.
type AnnotationsDiffBase struct {
	Prefix string // of the annotation's name; defaults to "kopf.zalando.org"
	Key    string // name of the annotation; defaults to "last-handled-configuration"
	NoV1   bool   // do not write the name that older versions of Kopf use for a long key; defaults to false

	// Ignored are fields whose changes do not count, even if handlers name them. Defaults to none. Another
	// operator of the same objects must ignore the same fields: otherwise, each takes over all objects as updated.
	Ignored []Path
}

// StatusDiffBase is a [DiffBaseStorage] in the status. The zero value is usable. It is safe for concurrent
// use. A malformed field is a panic at the start of the operator.
type StatusDiffBase struct {
	Name  string // replaces {name} in the field; defaults to "kopf"
	Field string // path of the diff base; defaults to "status.{name}.last-handled-configuration"

	Ignored []Path // fields whose changes do not count: see [AnnotationsDiffBase]
}

// MultiDiffBase is a [DiffBaseStorage] that writes to all its storages and reads from the first that has a
// diff base. It serves to migrate from one storage to another.
type MultiDiffBase []DiffBaseStorage

var (
	_ ProgressStorage = AnnotationsProgress{}
	_ ProgressStorage = StatusProgress{}
	_ ProgressStorage = SmartProgress{}
	_ ProgressStorage = MultiProgress{}
	_ DiffBaseStorage = AnnotationsDiffBase{}
	_ DiffBaseStorage = StatusDiffBase{}
	_ DiffBaseStorage = MultiDiffBase{}
)

// storageField parses the path of a field in which {name} stands for the name.
func storageField(notation, name, byDefault string) object.Path {
	notation = strings.ReplaceAll(cmp.Or(notation, byDefault), "{name}", cmp.Or(name, defaultStorageName))
	path, err := Path(notation).fixed()
	if err == nil && len(path) == 0 {
		err = object.ErrRoot
	}
	if err != nil {
		panic(fmt.Sprintf("kopf: storage field %q: %v", notation, err))
	}
	return path
}

// ignoredFields parses the paths of fields whose changes do not count.
func ignoredFields(fields []Path) []object.Path {
	var paths []object.Path
	for _, field := range fields {
		path, err := field.fixed()
		if err == nil && len(path) == 0 {
			err = object.ErrRoot
		}
		if err != nil {
			panic(fmt.Sprintf("kopf: ignored field %q: %v", field, err))
		}
		paths = append(paths, path)
	}
	return paths
}

// engineProgress returns the engine's form of a storage: the engine's own for the built-in ones, and an
// adapter for all others. A user's type that embeds a built-in one is not built-in: it may override methods.
func engineProgress(s ProgressStorage) state.ProgressStorage {
	switch s := s.(type) {
	case nil:
		return state.NewSmartProgress()
	case AnnotationsProgress:
		return s.engine()
	case *AnnotationsProgress:
		return s.engine()
	case StatusProgress:
		return s.engine()
	case *StatusProgress:
		return s.engine()
	case SmartProgress:
		return s.engine()
	case *SmartProgress:
		return s.engine()
	case MultiProgress:
		return s.engine()
	case *MultiProgress:
		return s.engine()
	default:
		return customProgress{s, unbound()}
	}
}

// engineDiffBase is engineProgress for diff bases.
func engineDiffBase(s DiffBaseStorage) state.DiffBaseStorage {
	switch s := s.(type) {
	case nil:
		return state.NewAnnotationsDiffBase()
	case AnnotationsDiffBase:
		return s.engine()
	case *AnnotationsDiffBase:
		return s.engine()
	case StatusDiffBase:
		return s.engine()
	case *StatusDiffBase:
		return s.engine()
	case MultiDiffBase:
		return s.engine()
	case *MultiDiffBase:
		return s.engine()
	default:
		return customDiffBase{s, unbound()}
	}
}

func (s AnnotationsProgress) engine() state.ProgressStorage {
	return &state.AnnotationsProgress{
		Prefix:   cmp.Or(s.Prefix, defaultStoragePrefix),
		TouchKey: cmp.Or(s.TouchKey, defaultTouchKey),
		V1:       !s.NoV1,
		Verbose:  s.Verbose,
	}
}

func (s StatusProgress) engine() state.ProgressStorage { return s.status() }

func (s StatusProgress) status() *state.StatusProgress {
	return &state.StatusProgress{
		Field:      storageField(s.Field, s.Name, "status.{name}.progress"),
		TouchField: storageField(s.TouchField, s.Name, "status.{name}.dummy"),
	}
}

func (s SmartProgress) engine() state.ProgressStorage {
	status := s.Status.status()
	status.ReadOnly = true
	return state.MultiProgress{s.Annotations.engine(), status}
}

func (s MultiProgress) engine() state.ProgressStorage {
	all := make(state.MultiProgress, len(s))
	for i, one := range s {
		all[i] = engineProgress(one)
	}
	return all
}

func (s AnnotationsDiffBase) engine() state.DiffBaseStorage {
	return &state.AnnotationsDiffBase{
		Prefix: cmp.Or(s.Prefix, defaultStoragePrefix),
		Key:    cmp.Or(s.Key, defaultDiffBaseKey),
		V1:     !s.NoV1,

		Ignored: ignoredFields(s.Ignored),
	}
}

func (s StatusDiffBase) engine() state.DiffBaseStorage {
	return &state.StatusDiffBase{
		Field:   storageField(s.Field, s.Name, "status.{name}."+defaultDiffBaseKey),
		Ignored: ignoredFields(s.Ignored),
	}
}

func (s MultiDiffBase) engine() state.DiffBaseStorage {
	all := make(state.MultiDiffBase, len(s))
	for i, one := range s {
		all[i] = engineDiffBase(one)
	}
	return all
}
