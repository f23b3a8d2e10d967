package kopf_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/storage"
)

func TestOperator_NamesOfMarksMustBeNames(t *testing.T) {
	for want, settings := range map[string]kopf.PersistenceSettings{
		`"two words" is not a valid finalizer name`:      {Finalizer: "two words"},
		`"foregroundDeletion" is a finalizer of Kuberne`: {Finalizer: "foregroundDeletion"},
		`"my prefix/touch-dummy": `:                      {ProgressStorage: storage.Annotations(storage.AnnotationNames{Prefix: "my prefix"})},
		`kopf.zalando.org/func1 is for touching`:         {ProgressStorage: storage.Smart(storage.AnnotationNames{TouchKey: "func1"}, storage.StatusFields{})},
		`kopf.zalando.org/func1 is for the last-handled`: {DiffBaseStorage: storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Key: "func1"})},
		`"kopf.zalando.org/last handled": `:              {DiffBaseStorage: storage.MultiDiffBase(storage.StatusDiffBase(storage.DiffBaseField{}), storage.AnnotationDiffBase(storage.DiffBaseAnnotation{Key: "last handled"}))},
	} {
		for _, atStartup := range []bool{false, true} {
			operator := &kopf.Operator{Registry: &kopf.Registry{}, AllNamespaces: true, Logger: slog.New(slog.DiscardHandler)}
			kopf.OnCreate(operator.Registry, kex, func1)
			if atStartup {
				kopf.OnStartup(operator.Registry, func(_ context.Context, a *kopf.Activity) error {
					a.Settings.Persistence = settings
					return nil
				}, kopf.ID("configure"))
			} else {
				operator.Settings.Persistence = settings
			}
			if err := operator.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	}
}

func TestOperator_WholeClusterMustBeAskedFor(t *testing.T) {
	for want, operator := range map[string]*kopf.Operator{
		"name some in Namespaces, or set AllNamespaces": {},
		"AllNamespaces excludes Namespaces":             {AllNamespaces: true, Namespaces: []string{"a"}},
		"has an empty name; name it, or set":            {Namespaces: []string{""}},
	} {
		operator.Registry = &kopf.Registry{}
		if err := operator.Run(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
