package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/question"
	"github.com/kopf-dev/kopf/plan/shapes"
	"github.com/kopf-dev/kopf/plan/trial"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/rehandle"
)

// planMarks are the marks of a plan with --rehandle. Its methods are safe for concurrent use.
type planMarks struct {
	operators []inspect.Description

	mu    sync.Mutex
	byUID map[string][]rehandle.Target // handlers by the marked object
}

// newMarks describes this build of the operator. The other build of a comparison gets the same marks, and ignores versions that it does not
// have.
func newMarks(ctx context.Context, o trial.Options) (*planMarks, error) {
	described, err := trial.Describe(ctx, o)
	return &planMarks{operators: described, byUID: make(map[string][]rehandle.Target)}, err
}

// change marks the copied objects. It is a [question.Change].
func (m *planMarks) change(resource schema.GroupResource, object map[string]any) map[string]any {
	if marked := rehandle.Mark(m.operators, resource, object); len(marked) > 0 {
		metadata, _ := object["metadata"].(map[string]any)
		uid, _ := metadata["uid"].(string)
		m.mu.Lock()
		defer m.mu.Unlock()
		m.byUID[uid] = marked
	}
	return object
}

var _ question.Change = (*planMarks)(nil).change

// answer returns the handlers with versions, with the numbers of their marked objects among the objects that the operator has seen. The
// marks in left are still on their objects, although the handlers were not called.
func (m *planMarks) answer(result *trial.Result) (all []shapes.Rehandled, left []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	counts, ignored := make(map[shapes.Rehandled]int), make(map[string]int)
	for _, d := range m.operators {
		for _, h := range d.Handlers {
			if h.Version != "" {
				counts[shapes.Rehandled{Handler: h.ID, Version: h.Version}] = 0
			}
		}
	}
	after := make(map[string]map[string]any) // objects by uid after their last changes
	for _, r := range result.Requests {
		metadata, _ := r.After["metadata"].(map[string]any)
		if uid, _ := metadata["uid"].(string); uid != "" {
			after[uid] = r.After
		}
	}
	for _, o := range result.Objects {
		for _, t := range m.byUID[o.UID] {
			counts[shapes.Rehandled{Handler: t.Handler, Version: t.Version}]++
			if tree := after[o.UID]; !isCalled(o, t.Handler) && (tree == nil || t.HasMark(tree)) {
				ignored[t.Handler]++
			}
		}
	}
	for h, n := range counts {
		h.Objects = n
		all = append(all, h)
	}
	slices.SortFunc(all, func(a, b shapes.Rehandled) int {
		return cmp.Or(cmp.Compare(a.Handler, b.Handler), cmp.Compare(a.Version, b.Version))
	})
	for id, n := range ignored {
		left = append(left, fmt.Sprintf("handler %s again on %d objects, which keep their marks", id, n))
	}
	slices.Sort(left)
	return all, left
}

// isCalled reports whether the operator has called a handler for an object.
func isCalled(o *inspect.Object, id string) bool {
	return slices.ContainsFunc(o.History, func(past inspect.PastCause) bool { return slices.Contains(past.Handlers, id) }) ||
		slices.ContainsFunc(o.Handlers, func(h inspect.HandlerState) bool { return h.ID == id && len(h.Attempts) > 0 })
}
