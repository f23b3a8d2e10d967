// Package storage has the built-in storages of the handlers' progress and of the diff base. Set them as
// Settings.Persistence.ProgressStorage and DiffBaseStorage. All storages are safe for concurrent use. See [Storages].
//
// [Storages]: https://github.com/kopf-dev/kopf/blob/main/docs/state-on-objects.md#storages
package storage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// The defaults of the storages, compatible with Kopf for Python.
const (
	defaultPrefix      = "kopf.zalando.org"
	defaultName        = "kopf"
	defaultTouchKey    = "touch-dummy"
	defaultDiffBaseKey = "last-handled-configuration"
)

// AnnotationNames are the names of the annotations of [Annotations]. The zero value has the defaults.
type AnnotationNames struct {
	Prefix   string // prefix of all names; defaults to "kopf.zalando.org"
	TouchKey string // name of the annotation that is changed to cause an event; defaults to "touch-dummy"
	Verbose  bool   // also store empty fields of records; defaults to false
	NoV1     bool   // do not write the names that older versions of Kopf use for long ids; defaults to false
}

// StatusFields are the fields of [Status]. The zero value has the defaults.
type StatusFields struct {
	Name       string // replaces {name} in the fields; defaults to "kopf"
	Field      string // path of the records; defaults to "status.{name}.progress"
	TouchField string // path of the field that is changed to cause an event; defaults to "status.{name}.dummy"
}

// DiffBaseAnnotation is the annotation of [AnnotationDiffBase]. The zero value has the defaults.
type DiffBaseAnnotation struct {
	Prefix string // prefix of the name; defaults to "kopf.zalando.org"
	Key    string // name of the annotation; defaults to "last-handled-configuration"
	NoV1   bool   // do not write the name that older versions of Kopf use for a long key; defaults to false

	// Ignored are fields whose changes cause no updates, even if handlers name them. Defaults to none. All operators of the
	// same objects must ignore the same fields. Otherwise, each operator regards all objects as updated when it starts.
	Ignored []kopf.Path
}

// DiffBaseField configures in which field of an object [StatusDiffBase] stores the diff base. The zero value has the
// defaults.
type DiffBaseField struct {
	Name  string // replaces {name} in the field; defaults to "kopf"
	Field string // path of the diff base; defaults to "status.{name}.last-handled-configuration"

	Ignored []kopf.Path // fields whose changes cause no updates: see [DiffBaseAnnotation]
}

// fieldPath parses the path of a field in which {name} stands for the name.
func fieldPath(notation, name, byDefault string) object.Path {
	notation = strings.ReplaceAll(cmp.Or(notation, byDefault), "{name}", cmp.Or(name, defaultName))
	path, err := fieldOf(notation)
	if err != nil {
		panic(fmt.Sprintf("storage: field %q: %v", notation, err))
	}
	return path
}

// ignoredPaths parses the paths of ignored fields.
func ignoredPaths(fields []kopf.Path) []object.Path {
	var paths []object.Path
	for _, field := range fields {
		path, err := fieldOf(string(field))
		if err != nil {
			panic(fmt.Sprintf("storage: ignored field %q: %v", field, err))
		}
		paths = append(paths, path)
	}
	return paths
}

// fieldOf parses the path of a field. The path must not be empty.
func fieldOf(notation string) (object.Path, error) {
	path, err := object.ParsePath(notation)
	switch {
	case err != nil:
		return nil, err
	case len(path) == 0:
		return nil, object.ErrRoot
	default:
		return path, path.CheckKeys()
	}
}

func treeOf(body *kopf.Object) map[string]any {
	tree, _ := body.Get("").(map[string]any)
	return tree
}
