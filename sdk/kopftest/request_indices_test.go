package kopftest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestWithIndices_HandlersReadIndices(t *testing.T) {
	r := &kopf.Registry{}
	bySize := kopf.NewIndex(r, widgets, func(_ context.Context, p *kopf.IndexRequest[sized]) (map[int]string, error) {
		if p.Object.Spec.Size < 0 {
			return nil, errors.New("it is too small")
		}
		return map[int]string{p.Object.Spec.Size: p.Name}, nil
	}, kopf.ID("by-size"), kopf.Labels{"a": kopf.Present})
	pods := kopf.NewIndex(r, kopf.Resource("v1", "pods"), func(_ context.Context, p *kopf.IndexRequest[kopf.Object]) (map[string]bool, error) {
		return map[string]bool{p.Name: true}, nil
	}, kopf.ID("pods"))

	ctx := WithIndices(t.Context(), t, r,
		oneWidget,
		"{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: two, labels: {a: c}}, spec: {size: 1}}",
		"{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: unlabelled}, spec: {size: 1}}",
		"{apiVersion: kopftest.kopf.dev/v1, kind: Widget, metadata: {name: three, labels: {a: c}}, spec: {size: -1}}",
		map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "pod"}},
	)
	names := bySize.Get(ctx, 1)
	slices.Sort(names)
	if !slices.Equal(names, []string{"one", "two"}) || bySize.Len(ctx) != 1 || pods.Len(ctx) != 1 {
		t.Errorf("%v, %d sizes, %d pods", names, bySize.Len(ctx), pods.Len(ctx))
	}
}

func TestWithIndices_ObjectWithoutIndexFailsTest(t *testing.T) {
	r := &kopf.Registry{}
	kopf.NewIndex(r, widgets, func(context.Context, *kopf.IndexRequest[sized]) (map[int]string, error) { return nil, nil }, kopf.ID("i"))
	for object, want := range map[string]string{
		"{apiVersion: v1, kind: Pod, metadata: {name: pod}}": "object 1 of the indices is a Pod: no index is for pods.v1",
		"metadata: {name: x}":                                "cannot find the index of object 1: the object has no kind",
	} {
		failure := failureOf(t, func(d testing.TB) { WithIndices(d.Context(), d, r, object) })
		wantAll(t, failure, want)
	}
}
