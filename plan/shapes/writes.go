package shapes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/plan/records"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// target identifies a changed object.
type target struct{ resource, namespace, name string }

// effect is the effect of all requests for one object.
type effect struct {
	target
	requests      []proxy.Request
	before, after map[string]any
	sent, created map[string]any // object in the body of the create request, and after the request
	handlers      []string       // ids of the handlers that sent requests
}

// effects returns the effects of requests, in the order of their first requests.
func effects(requests []proxy.Request) []*effect {
	var all []*effect
	known := make(map[target]*effect)
	for _, r := range requests {
		at := target{resourceKey(r), r.Namespace, r.Name}
		e := known[at]
		if e == nil {
			e = &effect{target: at, before: r.Before}
			known[at] = e
			all = append(all, e)
		}
		e.requests = append(e.requests, r)
		if r.Handler != "" && r.Handler != inspect.PlanEngine && !slices.Contains(e.handlers, r.Handler) {
			e.handlers = append(e.handlers, r.Handler)
		}
		if r.Code >= 400 {
			continue
		}
		if e.after = r.After; r.Before == nil && r.After != nil {
			e.sent, e.created = nil, r.After
			if err := yaml.Unmarshal(r.Body, &e.sent); err != nil {
				e.sent = r.After // the proxy does not record bodies of this encoding
			}
		}
	}
	return all
}

// resourceKey returns the key of a resource in the format of the inspector.
func resourceKey(r proxy.Request) string {
	key := r.Resource.Resource + "." + r.Resource.Version
	if r.Resource.Group != "" {
		key += "." + r.Resource.Group
	}
	return key
}

// theOperator is the sender of requests that the operator makes itself, without a handler.
const theOperator = "the operator itself"

// write returns the effect with placeholders; false if the requests changed only the operator's own records.
func (e *effect) write(n *normaliser, own ownFields) (Write, bool) {
	generated := slices.ContainsFunc(e.requests, func(r proxy.Request) bool { return strings.Contains(string(r.Body), `"generateName"`) })
	w := Write{Resource: e.resource, Name: n.objectName(e.namespace, e.name, generated), By: slices.Sorted(slices.Values(e.handlers))}
	if len(w.By) == 0 && slices.ContainsFunc(e.requests, func(r proxy.Request) bool { return r.Handler == inspect.PlanEngine }) {
		w.By = []string{theOperator}
	}
	for _, r := range e.requests {
		verb := r.Verb
		if verb == "patch" && r.Before == nil && r.After != nil {
			verb = "create" // server-side apply has created the object
		}
		if r.Code < 400 && r.Before != nil && r.After == nil {
			verb = "delete" // the request has removed the last finalizer of an object in deletion
		}
		if r.Code >= 400 {
			if r.Handler == inspect.PlanEngine && (r.Code == 404 || r.Code == 409 || r.Code == 422 && !isInvalid(r)) {
				continue // the operator repeats its own requests after conflicts
			}
			w.Refused = append(w.Refused, verb+": "+n.message(reason(r)))
		}
		// For deletecollection, the objects before and after the request are unknown.
		if !slices.Contains(w.Verbs, verb) && (r.Code >= 400 || verb == "deletecollection" || !equal(own.strip(r.Before), own.strip(r.After))) {
			w.Verbs = append(w.Verbs, verb)
		}
	}
	if e.name == "" {
		w.Name += "*"
	}
	slices.Sort(w.Refused)
	w.Refused = slices.Compact(w.Refused)
	if e.after != nil {
		after := flat(own.strip(e.after))
		if e.before == nil && e.sent != nil { // omit the defaults of the API server, but keep later changes
			after = rebase(flat(own.strip(e.sent)), flat(own.strip(e.created)), after)
		}
		w.Changes = changes(flat(own.strip(e.before)), after, n)
	}
	return w, len(w.Verbs) > 0
}

// reason returns the code and the message of a rejected request.
func reason(r proxy.Request) string {
	if r.Status != nil && r.Status.Message != "" {
		return strconv.Itoa(r.Code) + " " + r.Status.Message
	}
	return strconv.Itoa(r.Code)
}

// rebase returns the fields with the changes between two other sets of fields applied.
func rebase(fields, before, after map[string]string) map[string]string {
	for path, value := range after {
		if old, ok := before[path]; !ok || old != value {
			fields[path] = value
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			delete(fields, path)
		}
	}
	return fields
}

// changes returns the differences of the fields of two objects.
func changes(old, now map[string]string, n *normaliser) []Change {
	paths := maps.Clone(old)
	maps.Copy(paths, now)
	var all []Change
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if old[path] != now[path] {
			all = append(all, Change{Path: n.text(path), Old: n.value(old[path]), New: n.value(now[path])})
		}
	}
	return all
}

func flat(tree map[string]any) map[string]string {
	all := make(map[string]string)
	if tree != nil {
		for _, l := range leaves("", tree) {
			all[l.path] = l.value
		}
	}
	return all
}

// equal compares two trees by their JSON, because numbers have several Go types.
func equal(a, b map[string]any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}

// ownFields identifies the fields in which an operator keeps its own records.
type ownFields struct {
	finalizer string
	prefixes  []string   // prefixes of annotations, without the slash
	fields    [][]string // paths of fields
	states    []string   // annotations with the last-handled state, in an operator that does not report its fields
}

// newOwnFields returns the fields of the operator of a trial. By default, annotations have the same prefix as the finalizer. A startup
// handler can set another one: the operator then stores its records under it.
func newOwnFields(t Trial) ownFields {
	return ownFieldsIn(t, len(t.Operator.Records) == 0, func(r proxy.Request) bool { return r.Handler == inspect.PlanEngine })
}

// ownFieldsIn is as [newOwnFields], with a function that reports whether a request can be the operator's own. Records that the requests
// leave as they are can be of another operator. If byContent is true, the annotation with the last-handled state is found by its content.
func ownFieldsIn(t Trial, byContent bool, isOwn func(proxy.Request) bool) ownFields {
	finalizer := t.Operator.Finalizer
	f := ownFields{finalizer: finalizer, prefixes: slices.Clone(records.DefaultPrefixes), fields: records.Fields(t.Operator.Records)}
	if prefix, _, ok := strings.Cut(finalizer, "/"); ok {
		f.prefixes = append(f.prefixes, prefix)
	}
	eachChange := func(do func(r proxy.Request, name, prefix string, value any)) {
		for _, r := range t.Requests {
			if !isOwn(r) {
				continue
			}
			before := annotationsOf(r.Before)
			for name, value := range annotationsOf(r.After) {
				if old, had := before[name]; !had || old != value {
					prefix, _, _ := strings.Cut(name, "/")
					do(r, name, prefix, value)
				}
			}
		}
	}
	eachChange(func(_ proxy.Request, name, prefix string, value any) {
		if !slices.Contains(f.prefixes, prefix) && records.IsAnnotation([]string{prefix}, name, value) {
			f.prefixes = append(f.prefixes, prefix)
		}
	})
	if byContent {
		eachChange(func(r proxy.Request, name, prefix string, value any) {
			if slices.Contains(f.prefixes, prefix) && !slices.Contains(f.states, name) && (records.IsState(value, r.Before) || records.IsState(value, r.After)) {
				f.states = append(f.states, name)
			}
		})
	}
	return f
}

func annotationsOf(object map[string]any) map[string]any {
	meta, _ := object["metadata"].(map[string]any)
	annotations, _ := meta["annotations"].(map[string]any)
	return annotations
}

// strip returns an object without the operator's records, without the fields that the API server sets, and without the identity of the
// object, which the output shows elsewhere.
func (f ownFields) strip(object map[string]any) map[string]any {
	if object == nil {
		return nil
	}
	for _, path := range f.fields {
		object = records.Without(object, path)
	}
	object = maps.Clone(object)
	delete(object, "apiVersion")
	delete(object, "kind")
	if meta, ok := object["metadata"].(map[string]any); ok {
		meta = f.stripMetadata(maps.Clone(meta))
		object["metadata"] = meta
		deleteEmpty(object, "metadata", len(meta))
	}
	if status, ok := object["status"].(map[string]any); ok {
		deleteEmpty(object, "status", len(status))
	}
	return object
}

func (f ownFields) stripMetadata(meta map[string]any) map[string]any {
	for _, name := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink", "name", "namespace", "generateName"} {
		delete(meta, name)
	}
	for kind, isOwn := range map[string]func(string, any) bool{
		"annotations": func(name string, value any) bool {
			return records.IsAnnotation(f.prefixes, name, value) || slices.Contains(f.states, name)
		},
		"labels": func(name string, _ any) bool { return records.IsLabel(name) },
	} {
		if all, ok := meta[kind].(map[string]any); ok {
			all = maps.Clone(all)
			maps.DeleteFunc(all, isOwn)
			meta[kind] = all
			deleteEmpty(meta, kind, len(all))
		}
	}
	if all, ok := meta["finalizers"].([]any); ok {
		all = slices.DeleteFunc(slices.Clone(all), func(name any) bool { return name == f.finalizer })
		meta["finalizers"] = all
		deleteEmpty(meta, "finalizers", len(all))
	}
	if owners, ok := meta["ownerReferences"].([]any); ok {
		names := make([]any, len(owners))
		for i, owner := range owners {
			ref, _ := owner.(map[string]any)
			names[i] = fmt.Sprint(ref["kind"], "/", ref["name"])
		}
		meta["ownerReferences"] = names
	}
	return meta
}

func deleteEmpty(parent map[string]any, name string, size int) {
	if size == 0 {
		delete(parent, name)
	}
}

// records describes the operator's own changes of an object.
func (f ownFields) records(e *effect) []string {
	has := func(object map[string]any) bool {
		meta, _ := object["metadata"].(map[string]any)
		all, _ := meta["finalizers"].([]any)
		return slices.Contains(all, any(f.finalizer))
	}
	var own []string
	switch before, after := has(e.before), has(e.after); {
	case !before && after:
		own = append(own, "+ finalizer")
	case before && !after:
		own = append(own, "- finalizer")
	}
	// The number of requests is ignored, because it depends on the timing of events, and would split a shape.
	if slices.ContainsFunc(e.requests, func(r proxy.Request) bool {
		return r.Handler == inspect.PlanEngine && r.Code < 400 && !equal(r.Before, r.After)
	}) {
		own = append(own, "records")
	}
	return own
}

// plural formats a number with its noun.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return thousands(n) + " " + thing + "s"
}

// thousands formats a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// compareWrites is the order of sorted writes. The order of the requests differs from run to run.
func compareWrites(a, b Write) int {
	if order := cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Name, b.Name)); order != 0 {
		return order
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}
