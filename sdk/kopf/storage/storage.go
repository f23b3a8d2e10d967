// Package storage has the places where an operator can store its marks on objects,
// to be set as Settings.Persistence. The zero value of each is usable, and compatible
// with Kopf for Python; the comments of fields tell their defaults. All are safe for
// concurrent use. A field whose notation is malformed is a panic at the start. See the
// chapters "Continuity" and "Configuration" of Kopf's documentation.
package storage

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// The defaults.
const (
	defaultPrefix   = "kopf.zalando.org"
	defaultName     = "kopf"
	defaultTouchKey = "touch-dummy"
	defaultKey      = "last-handled-configuration"
)

// AnnotationsProgress stores progress in annotations, one for each handler.
type AnnotationsProgress struct {
	Prefix   string // "kopf.zalando.org"
	TouchKey string // "touch-dummy"
	Verbose  bool   // store also what is empty
	NoV1     bool   // do not write the old names of long ids
}

// StatusProgress stores progress in the status.
type StatusProgress struct {
	Name       string // "kopf"
	Field      string // "status.{name}.progress"
	TouchField string // "status.{name}.dummy"
}

// SmartProgress stores progress in annotations; it reads from the status, too, what
// operators of old have stored there, and removes it.
type SmartProgress struct {
	Annotations AnnotationsProgress
	Status      StatusProgress
}

// MultiProgress writes to all storages, and reads from the first that has a record: for
// moving from one to another.
type MultiProgress []kopf.ProgressStorage

// AnnotationsDiffBase stores the diff base in an annotation.
type AnnotationsDiffBase struct {
	Prefix string // "kopf.zalando.org"
	Key    string // "last-handled-configuration"
	NoV1   bool   // do not write the old name, if the key is long
}

// StatusDiffBase stores the diff base in the status.
type StatusDiffBase struct {
	Name  string // "kopf"
	Field string // "status.{name}.last-handled-configuration"
}

// MultiDiffBase writes to all storages, and reads from the first that has one: for
// moving from one to another.
type MultiDiffBase []kopf.DiffBaseStorage

var (
	_ kopf.ProgressStorage = AnnotationsProgress{}
	_ kopf.ProgressStorage = StatusProgress{}
	_ kopf.ProgressStorage = SmartProgress{}
	_ kopf.ProgressStorage = MultiProgress{}
	_ kopf.DiffBaseStorage = AnnotationsDiffBase{}
	_ kopf.DiffBaseStorage = StatusDiffBase{}
	_ kopf.DiffBaseStorage = MultiDiffBase{}
)

// fieldOf is a field whose notation may have the name in it.
func fieldOf(notation, name, byDefault string) object.Path {
	notation = strings.ReplaceAll(cmp.Or(notation, byDefault), "{name}", cmp.Or(name, defaultName))
	path, err := object.ParsePath(notation)
	if err == nil && len(path) == 0 {
		err = object.ErrRoot
	}
	if err != nil {
		panic(fmt.Sprintf("kopf/storage: the field %q: %v", notation, err))
	}
	return path
}
