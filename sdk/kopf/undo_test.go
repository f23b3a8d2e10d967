package kopf_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func undoBucket(context.Context, *kopf.Undo[kopf.Object, string]) error { return nil }

func TestOnUndo_NamesAHandlerOfTheCreation(t *testing.T) {
	const mistake = `OnUndo: no handler of OnCreate or OnField has the id "func1", or is the parent of a sub-handler with this id`
	undo := func(r *kopf.Registry) { kopf.OnUndo(r, kex, "func1", "make", undoBucket) }
	for name, test := range map[string]struct {
		register func(*kopf.Registry)
		want     string
	}{
		"creation before":   {func(r *kopf.Registry) { kopf.OnCreate(r, kex, func1); undo(r) }, ""},
		"creation after":    {func(r *kopf.Registry) { undo(r); kopf.OnCreate(r, kex, func1) }, ""},
		"update":            {func(r *kopf.Registry) { undo(r); kopf.OnUpdate(r, kex, func1) }, mistake},
		"none":              {undo, mistake},
		"id with its start": {func(r *kopf.Registry) { undo(r); kopf.OnCreate(r, kex, func1, kopf.ID("func")) }, mistake},
		"nil": {func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1)
			kopf.OnUndo[kopf.Object, string](r, kex, "func1", "make", nil)
		}, "OnUndo: the handler is nil"},
		"function literal": {func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1)
			kopf.OnUndo(r, kex, "func1", "make", func(context.Context, *kopf.Undo[kopf.Object, int]) error { return nil })
		}, "OnUndo: the handler is a function literal"},
		"two with one id": {func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1)
			undo(r)
			kopf.OnUndo(r, kex, "func1", "grant", undoBucket)
		}, `OnUndo: handler "undoBucket" is already registered`},
		"filter by function": {func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1)
			kopf.OnUndo(r, kex, "func1", "make", undoBucket, kopf.When(func(context.Context, *change) bool { return true }))
		}, ""},
		"sub-handler": {func(r *kopf.Registry) {
			kopf.OnCreate(r, kex, func1, kopf.ID("f"))
			kopf.OnUndo(r, kex, "f/sub", "make", undoBucket)
		}, ""},
		"field": {func(r *kopf.Registry) {
			kopf.OnField(r, kex, "spec.a", onSize)
			kopf.OnUndo(r, kex, "onSize/spec.a", "make", undoBucket)
		}, ""},
		"field, updates only": {func(r *kopf.Registry) {
			kopf.OnField(r, kex, "spec.a", onSize, kopf.Reasons(kopf.ReasonUpdate), kopf.ID("func1"))
			kopf.OnUndo(r, kex, "func1/spec.a", "make", undoBucket)
		}, `has the id "func1/spec.a"`},
	} {
		t.Run(name, func(t *testing.T) {
			var r kopf.Registry
			test.register(&r)
			err := r.Err()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "kopf/undo_test.go:")) {
				t.Errorf("got %v", err)
			}
		})
	}
}
