package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// reviewedMap is the manifest of a ConfigMap with the label tier=gold.
func reviewedMap(name string) apply.Manifest {
	return apply.Manifest{Object: &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "labels": map[string]any{"tier": "gold"}},
	}}}
}

// reviewing returns an operator with a webhook of each kind for ConfigMaps with a label.
func reviewing(label string, operations ...string) *inspect.Snapshot {
	s := &inspect.Snapshot{Admission: &inspect.Admission{}}
	for _, kind := range []inspect.HandlerKind{inspect.KindMutate, inspect.KindValidate} {
		s.Admission.Webhooks = append(s.Admission.Webhooks, inspect.Webhook{
			Kind: kind, State: inspect.WebhookInstalled, Labels: []string{label},
			Rules: []inspect.WebhookRule{{Resource: "configmaps.v1", Operations: operations}},
		})
	}
	return s
}

var configMapAPI = []inspect.APIResource{{Version: "v1", Kind: "ConfigMap", Plural: "configmaps"}}

func TestMatching_FollowsRulesAndLabels(t *testing.T) {
	for _, test := range []struct {
		label, operation string
		want             int
	}{
		{"tier=gold", "CREATE", 2}, {"tier=present", "CREATE", 2}, {"tier=tin,gold", "*", 2}, {"other=absent", "CREATE", 2},
		{"tier=tin", "CREATE", 0}, {"tier=absent", "CREATE", 0}, {"other=present", "CREATE", 0}, {"tier=gold", "DELETE", 0},
	} {
		if got := matching(reviewedMap("a"), reviewing(test.label, test.operation), configMapAPI, "CREATE"); len(got) != test.want {
			t.Errorf("%+v: %d webhooks", test, len(got))
		}
	}
	uninstalled := reviewing("tier=gold", "*")
	uninstalled.Admission.Webhooks[0].State = inspect.WebhookUnmanaged
	if got := matching(reviewedMap("a"), uninstalled, configMapAPI, "CREATE"); len(got) != 1 {
		t.Errorf("%d webhooks, want only the installed one", len(got))
	}
	all := []apply.Manifest{reviewedMap("a"), reviewedMap("b")}
	if got := probes(all, reviewing("tier=gold", "*"), configMapAPI); len(got) != 1 || got[0].Object.GetName() != "a" {
		t.Errorf("the objects for dry runs are %v, want only a", got)
	}
}

// TestAwaitReviews_RepeatsUntilEachWebhookIsCalled has an API server that uses the configurations one after the other.
func TestAwaitReviews_RepeatsUntilEachWebhookIsCalled(t *testing.T) {
	for _, test := range []struct {
		name   string
		calls  []int // calls of webhooks by each dry run; the last number is repeated
		change apply.Change
		err    error
		runs   int
	}{
		{"both webhooks are called after a while", []int{0, 1, 2}, apply.Created, nil, 3},
		{"the webhooks are for other operations", []int{0}, apply.Unchanged, nil, 1},
		{"a webhook denies the object", []int{1}, apply.Created, apierrors.NewForbidden(schema.GroupResource{}, "a", errors.New("denied")), 1},
		{"there is no such kind", []int{0}, apply.Created, errors.New("no such kind"), 1},
		{"the API server is overloaded", []int{0}, apply.Created, apierrors.NewTooManyRequests("later", 1), int(webhooksLimit / webhooksInterval)},
		{"the API server does not reach the webhook", []int{0}, apply.Created, apierrors.NewInternalError(errors.New("no answer")), int(webhooksLimit / webhooksInterval)},
		{"no webhook is ever called", []int{0}, apply.Created, nil, int(webhooksLimit / webhooksInterval)},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), webhooksLimit-1)
			defer cancel()
			operator, runs := reviewing("tier=gold", "CREATE"), 0
			operator.Reviews = []inspect.Review{{ID: "old", DryRun: true, Object: inspect.Ref{Name: "a"}}}
			awaitReviews(ctx, func() *inspect.Snapshot { return operator }, reviewedMap("a"), configMapAPI, func(context.Context) (apply.Change, error) {
				for i := range test.calls[min(runs, len(test.calls)-1)] {
					operator.Reviews = append(operator.Reviews, inspect.Review{ID: fmt.Sprint(runs, i), DryRun: true, Object: inspect.Ref{Name: "a"}, At: time.Now()})
				}
				runs++
				return test.change, test.err
			})
			if runs != test.runs {
				t.Errorf("%s: %d dry runs, want %d", test.name, runs, test.runs)
			}
		})
	}
}
