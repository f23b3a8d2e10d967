package kopftest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// outcome is the result of a run: the objects by kind and name, and the effects of calls.
type outcome struct {
	objects map[string][]string // YAML; several only for generated names
	effects map[string][]effect
}

// known returns the handles of the test, except for definitions.
func (c *Cluster) known() []*Object {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.handles), func(o *Object) bool { return o.resource.Kind == definitionKind })
}

// paths returns the paths of the objects that are compared.
func (r *crashRun) paths() ([]string, error) {
	r.mu.Lock()
	paths := maps.Clone(r.written)
	r.mu.Unlock()
	for _, o := range r.cluster.known() {
		path, err := o.resource.Path(o.Namespace, o.Name, "", nil)
		if err != nil {
			return nil, err
		}
		paths[path] = true
	}
	return slices.Sorted(maps.Keys(paths)), nil
}

// state returns the present outcome, and whether an object is going to be deleted.
func (r *crashRun) state() (state outcome, vanishing bool, err error) {
	ctx, cancel := r.cluster.context()
	defer cancel()
	paths, err := r.paths()
	if err != nil {
		return outcome{}, false, err
	}
	state.objects = map[string][]string{}
	exists, owners := map[string]bool{}, map[string]bool{}
	for _, path := range paths {
		raw, err := r.cluster.client.Do(ctx, kube.Request{Method: http.MethodGet, Path: path})
		if ignoreNotFound(err) != nil {
			return outcome{}, false, err
		}
		if err != nil {
			continue
		}
		var o map[string]any
		if err := json.Unmarshal(raw, &o); err != nil {
			return outcome{}, false, fmt.Errorf("%s: %w", path, err)
		}
		metadata, _ := o["metadata"].(map[string]any)
		exists[fmt.Sprint(metadata["uid"])] = true
		vanishing = vanishing || metadata["deletionTimestamp"] != nil
		references, _ := metadata["ownerReferences"].([]any)
		for _, reference := range references {
			if reference, ok := reference.(map[string]any); ok && r.knows(reference["kind"], reference["name"], paths) {
				owners[fmt.Sprint(reference["uid"])] = true
			}
		}
		id, text, err := r.normal(o)
		if err != nil {
			return outcome{}, false, fmt.Errorf("%s: %w", path, err)
		}
		state.objects[id] = append(state.objects[id], text)
	}
	for owner := range owners {
		vanishing = vanishing || !exists[owner]
	}
	for _, texts := range state.objects {
		slices.Sort(texts)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	state.effects = maps.Clone(r.effects)
	return state, vanishing, nil
}

// knows reports whether the name of an owner is the name of a compared object, which may not exist any longer.
func (r *crashRun) knows(kind, name any, paths []string) bool {
	return slices.ContainsFunc(r.cluster.known(), func(o *Object) bool { return o.Kind == kind && o.Name == name }) ||
		slices.ContainsFunc(paths, func(path string) bool { return strings.HasSuffix(path, "/"+fmt.Sprint(name)) })
}

// appliedPattern matches the record of an applied child, which depends on the UID of its parent.
var appliedPattern = regexp.MustCompile(`/applied: 1:[0-9a-f]{16}`)

// normal returns the identity of an object, and the fields that the operator and the test have set, without values that differ
// between runs.
func (r *crashRun) normal(o map[string]any) (id, text string, err error) {
	namespace := r.cluster.Namespace
	r.mu.Lock()
	kept := setBy(o, r.managers)
	r.mu.Unlock()
	text, err = settledText([]map[string]any{r.cluster.withoutSecrets(kept)}, namespace)
	if err != nil {
		return "", "", err
	}
	text = appliedPattern.ReplaceAllString(text, "/applied: HASH")
	metadata, _ := o["metadata"].(map[string]any)
	name := fmt.Sprint(metadata["name"])
	if prefix, ok := metadata["generateName"].(string); ok && strings.HasPrefix(name, prefix) {
		text = strings.ReplaceAll(text, name, prefix+"GENERATED")
		name = prefix + "GENERATED"
	}
	id = fmt.Sprint(o["kind"], " ", strings.ReplaceAll(name, namespace, "NAMESPACE"))
	if at, ok := metadata["namespace"].(string); ok && at != namespace {
		id += " in " + strings.ReplaceAll(at, namespace, "NAMESPACE")
	}
	return id, text, nil
}

// lastingOutcome waits until no object is going to be deleted, and returns the outcome.
func (r *crashRun) lastingOutcome() outcome {
	r.cluster.t.Helper()
	var last outcome
	differences := r.await(func(state outcome, vanishing bool) (string, bool) {
		last = state
		if vanishing {
			return "an object is still being deleted", false
		}
		return "", true
	})
	if differences != "" {
		r.cluster.t.Fatalf("kopftest: the undisturbed run: %s", differences)
	}
	return last
}

// compare waits until the outcome is the outcome of the undisturbed run. It describes the differences; empty if there are none.
func (r *crashRun) compare(undisturbed outcome) string {
	r.cluster.t.Helper()
	return r.await(func(state outcome, _ bool) (string, bool) {
		more, others := undisturbed.differences(state, r.plan.Outside)
		return more + others, more+others == "" || more != ""
	})
}

// outcomeInterval is the time between two looks at all objects.
const outcomeInterval = 10 * time.Millisecond

// await judges the outcome until the verdict is final, and returns the last differences.
func (r *crashRun) await(judge func(state outcome, vanishing bool) (differences string, final bool)) string {
	c := r.cluster
	c.t.Helper()
	patience := time.After(min(cmp.Or(r.plan.patience, c.timeout), time.Until(deadline(c.t, c.timeout))))
	ticker := time.NewTicker(outcomeInterval)
	defer ticker.Stop()
	for {
		state, vanishing, err := r.state()
		if err != nil {
			c.t.Fatalf("kopftest: read the objects: %v", err)
		}
		differences, final := judge(state, vanishing)
		if final {
			return differences
		}
		select {
		case <-ticker.C:
		case <-patience:
			return differences
		}
	}
}

// differences describes how got differs from o: more has the calls with too many effects, which no later event can undo, and others
// has all other differences. Some calls of the outside may have other numbers of effects.
func (o outcome) differences(got outcome, outside *Outside) (more, others string) {
	var b strings.Builder
	for _, id := range sortedUnion(o.objects, got.objects) {
		want, is := o.objects[id], got.objects[id]
		switch {
		case len(is) > len(want):
			fmt.Fprintf(&b, "%s: %d exist, want %d\n%s", id, len(is), len(want), extraObject)
		case len(is) < len(want):
			fmt.Fprintf(&b, "%s: %d exist, want %d\n", id, len(is), len(want))
		case !slices.Equal(want, is):
			fmt.Fprintf(&b, "%s differs (- undisturbed, + now):\n%s\n", id, lineDiff(strings.Join(want, "---\n"), strings.Join(is, "---\n")))
		}
	}
	for _, call := range sortedUnion(o.effects, got.effects) {
		want, is := o.effects[call], got.effects[call]
		text := fmt.Sprintf("%s had %d effects, want %d: %v\n", call, len(is), len(want), is)
		switch {
		case len(is) > len(want) && !outside.mayHave(call, true):
			more += text + extraEffect
		case len(is) < len(want) && !outside.mayHave(call, false):
			b.WriteString(text)
		}
	}
	return more, b.String()
}

const (
	extraObject = "    A handler has made the object again, because its success was not recorded yet. Give the object a name that is the same\n" +
		"    in each attempt, and accept that it exists; or use kopf.Apply, or an OnReconcile handler.\n"
	extraEffect = "    A handler has repeated the call, because its success was not recorded yet. Pass a key that is the same in each\n" +
		"    attempt (kopf.KeyFor), record the result (kopf.Step), or look first whether the call has had its effect.\n"
)

func sortedUnion[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
