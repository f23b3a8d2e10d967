// Package records recognises the records that operators keep on objects, so that plans show the data of users and handlers, and only these.
package records

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// DefaultPrefixes are the prefixes of annotations with records whose operators have no prefix of their own.
var DefaultPrefixes = []string{"kopf.zalando.org", "kopf.dev"}

// names are the names of the operator's annotations after the prefix, including names that only Kopf for Python writes.
var names = []string{"last-handled-configuration", marker, "touch-dummy", "child-kinds", "handler-versions"}

// marker is the name of the annotation that marks the annotations with its prefix as an operator's.
const marker = "kopf-managed"

// starts are the starts of such names. Ids of handlers or names of other annotations follow.
var starts = []string{"failed-handler.", "handler-steps.", "started-step.", "rehandle-handler.", "unreadable."}

// ofDeployment is the end of the names on ReplicaSets of Deployments.
const ofDeployment = "-ofDRS"

// OwnedBy is the label of children with the resource of the parent, such as "claims.kopf.dev".
const OwnedBy = "kopf.dev/owned-by"

// labels are the operator's labels, on children and on webhook configurations.
var labels = []string{OwnedBy, "kopf.dev/owner-uid", "kopf.dev/owner-namespace", "kopf.dev/session"}

// fields are the fields of the status with records, in all operators whose storages have the default names.
var fields = [][]string{{"status", "kopf", "progress"}, {"status", "kopf", "dummy"}, {"status", "kopf", "last-handled-configuration"}}

// Fields returns the paths of the fields with records: the default ones in the status, and the fields that an operator reports.
func Fields(reported [][]string) [][]string { return slices.Concat(fields, reported) }

// IsLabel reports whether a label is an operator's.
func IsLabel(name string) bool { return slices.Contains(labels, name) }

// IsAnnotation reports whether an annotation with one of the prefixes has the name or the content of a record. The names of progress records come from
// ids of handlers, which only an older build can have, and long ids are shortened. So progress is recognised by its content. The
// last-handled state under a name that the operator has chosen is not recognised: see [IsState] and [Fields].
func IsAnnotation(prefixes []string, name string, value any) bool {
	if name == "kopf.dev/session-expires" || strings.HasPrefix(name, "kopf.dev/webhooks-") {
		return true // records of webhook configurations have this prefix in all operators
	}
	prefix, rest, found := strings.Cut(name, "/")
	if !found || !slices.Contains(prefixes, prefix) {
		return false
	}
	rest = strings.TrimSuffix(rest, ofDeployment)
	text, _ := value.(string)
	return slices.Contains(names, rest) || slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(rest, start) }) ||
		rest == "applied" && appliedPattern.MatchString(text) || isProgress(text)
}

// appliedPattern matches the hash of an applied child.
var appliedPattern = regexp.MustCompile(`^1:[0-9a-f]{16}$`)

// isProgress reports whether a text is the progress of a handler.
func isProgress(text string) bool {
	var progress struct {
		Started          *string
		Retries          *int
		Success, Failure *bool
	}
	return json.Unmarshal([]byte(text), &progress) == nil &&
		progress.Started != nil && progress.Retries != nil && progress.Success != nil && progress.Failure != nil
}

// IsState reports whether the value of an annotation can be the last-handled state of an object: JSON with a line feed at the end, which
// has some of the object's fields. It is for operators that do not report the name of the annotation, because a handler can write such a
// text, too.
func IsState(value any, object map[string]any) bool {
	text, _ := value.(string)
	var state map[string]any
	if !strings.HasSuffix(text, "}\n") || json.Unmarshal([]byte(text), &state) != nil || len(state) == 0 {
		return false
	}
	for key := range state {
		if _, ok := object[key]; !ok || key == "apiVersion" || key == "kind" {
			return false
		}
	}
	return true
}

// Marked returns the prefixes of annotations that an operator has marked as its own.
func Marked(annotations map[string]any) (prefixes []string) {
	for name := range annotations {
		if prefix, rest, _ := strings.Cut(name, "/"); rest == marker {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Without returns an object without a field, and without the maps that the removal empties. It does not change the given object.
func Without(object map[string]any, path []string) map[string]any {
	if !has(object, path) {
		return object
	}
	object = maps.Clone(object)
	inner, _ := object[path[0]].(map[string]any)
	delete(object, path[0])
	if len(path) > 1 {
		if rest := Without(inner, path[1:]); len(rest) > 0 {
			object[path[0]] = rest
		}
	}
	return object
}

// has reports whether an object has the field with a path. It has no field without a path.
func has(object map[string]any, path []string) bool {
	for i, key := range path {
		value, ok := object[key]
		if !ok || i == len(path)-1 {
			return ok
		}
		object, _ = value.(map[string]any)
	}
	return false
}
