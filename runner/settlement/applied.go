package settlement

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Applied is an object that was applied and that the operator has to handle.
type Applied struct {
	inspect.Ref

	// Version is the resourceVersion after it was applied. The object counts as handled
	// only at this or a later version.
	Version string

	// Change is "created", "configured" or "unchanged".
	Change string
}

// String returns the object with its change: "pods default/web created".
func (a Applied) String() string {
	resource, _, _ := strings.Cut(a.Resource, ".")
	name := a.Name
	if a.Namespace != "" {
		name = a.Namespace + "/" + name
	}
	return strings.TrimSpace(resource + " " + name + " " + a.Change)
}

// Application is the result of the last application of manifests. The zero value means that none were applied.
type Application struct {
	At      time.Time
	Objects []Applied
	Refused []string // complete errors of rejected objects and manifests

	// Waiting are the kinds of the objects that are not applied yet, as "Kind.group", because the operator reviews them
	// and is not ready.
	Waiting []string
}

// And returns the joint result of this application and the application of the next part of the same manifests.
func (a Application) And(next Application) Application {
	next.Objects = slices.Concat(a.Objects, next.Objects)
	refused := slices.Clone(a.Refused)
	for _, r := range next.Refused {
		if !slices.Contains(refused, r) { // the error of an invalid manifest occurs in each part
			refused = append(refused, r)
		}
	}
	next.Refused = refused
	return next
}

// NewApplication returns the result of an application that ended now.
func NewApplication(objects []Applied, err error) Application {
	a := Application{At: time.Now(), Objects: objects}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			a.Refused = append(a.Refused, e.Error())
		}
	} else if err != nil {
		a.Refused = []string{err.Error()}
	}
	return a
}

// String sums up the result: "applied 3 objects: 1 created, 2 unchanged; 1 refused".
func (a Application) String() string {
	s := "applied " + countObjects(len(a.Objects))
	var parts []string
	for _, change := range []string{"created", "configured", "unchanged"} {
		n := 0
		for _, o := range a.Objects {
			if o.Change == change {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+change)
		}
	}
	if len(parts) > 0 {
		s += ": " + strings.Join(parts, ", ")
	}
	if n := len(a.Refused); n > 0 {
		s += "; " + strconv.Itoa(n) + " refused"
	}
	return s
}

// countObjects formats a number of objects: "1 object", "3 objects".
func countObjects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return strconv.Itoa(n) + " objects"
}
