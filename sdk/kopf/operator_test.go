package kopf_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestOperator_NamesOfMarksMustBeNames(t *testing.T) {
	for want, settings := range map[string]kopf.PersistenceSettings{
		`"two words" is no name of a finalizer`:            {Finalizer: "two words"},
		`"foregroundDeletion" is a finalizer of Kuberne`:   {Finalizer: "foregroundDeletion"},
		`"my prefix/touch-dummy", which is none`:           {ProgressStorage: kopf.AnnotationsProgress{Prefix: "my prefix"}},
		`kopf.zalando.org/func1 is for touching`:           {ProgressStorage: kopf.SmartProgress{Annotations: kopf.AnnotationsProgress{TouchKey: "func1"}}},
		`kopf.zalando.org/func1 is for the last-handled`:   {DiffBaseStorage: kopf.AnnotationsDiffBase{Key: "func1"}},
		`"kopf.zalando.org/last handled", which is none: `: {DiffBaseStorage: kopf.MultiDiffBase{kopf.StatusDiffBase{}, kopf.AnnotationsDiffBase{Key: "last handled"}}},
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
