package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/resources"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

const (
	// webhooksLimit bounds the wait until the API server calls installed webhooks. It usually takes some milliseconds. Objects that no
	// webhook matches after all, for example because of their namespace, are applied after this time.
	webhooksLimit = 5 * time.Second
	// webhooksInterval is the time between two dry runs.
	webhooksInterval = 100 * time.Millisecond
)

// awaitWebhooks waits until the API server calls the installed webhooks of the operator: it uses a new configuration only some time after
// it has stored the configuration, and would accept an object in between without a review. As a proof, awaitWebhooks applies one object
// for the validating webhooks and one for the mutating webhooks as a dry run, until the operator has reviewed it.
func awaitWebhooks(ctx context.Context, config *rest.Config, paths []string, part settlement.Part, o apply.Options) {
	manifests, err := apply.Read(paths)
	if err != nil {
		return // the application of the files returns the error
	}
	known, err := resources.Served(ctx, config)
	if err != nil {
		return // the discovery of one API group may fail, and the objects are of another
	}
	manifests = slices.DeleteFunc(manifests, func(m apply.Manifest) bool { return !o.Only(m) })
	o.Only, o.DryRun = nil, true
	ctx, cancel := context.WithTimeout(ctx, webhooksLimit)
	defer cancel()
	for _, m := range probes(manifests, part.Operator(), known) {
		awaitReviews(ctx, part.Operator, m, known, func(ctx context.Context) (apply.Change, error) {
			done, err := apply.All(ctx, config, []apply.Manifest{m}, o)
			if err != nil || len(done) == 0 {
				return "", cmp.Or(err, context.Cause(ctx))
			}
			return done[0].Change, nil
		})
	}
}

// probes returns the first manifest that a webhook matches, for each kind of webhooks.
func probes(manifests []apply.Manifest, operator *inspect.Snapshot, known []inspect.APIResource) (all []apply.Manifest) {
	seen := make(map[inspect.HandlerKind]bool)
	for _, m := range manifests {
		isNew := false
		for _, w := range matching(m, operator, known, "CREATE", "UPDATE") {
			isNew = isNew || !seen[w.Kind]
			seen[w.Kind] = true
		}
		if isNew {
			all = append(all, m)
		}
	}
	return all
}

// matching returns the installed webhooks that the API server calls for one of the operations on the object of a manifest.
func matching(m apply.Manifest, operator *inspect.Snapshot, known []inspect.APIResource, operations ...string) (all []inspect.Webhook) {
	if operator == nil || operator.Admission == nil {
		return nil
	}
	kind, labels := m.Object.GroupVersionKind().GroupKind(), m.Object.GetLabels()
	operations = append(operations, "*")
	for _, w := range operator.Admission.Webhooks {
		isOfRule := func(rule inspect.WebhookRule) bool {
			isOfKind := func(r inspect.APIResource) bool {
				return r.Group == kind.Group && r.Kind == kind.Kind && keyOf(r) == rule.Resource
			}
			isOperation := func(operation string) bool { return slices.Contains(operations, operation) }
			return rule.Sub == "" && slices.ContainsFunc(rule.Operations, isOperation) && slices.ContainsFunc(known, isOfKind)
		}
		isUnmet := func(condition string) bool { return !isMet(condition, labels) }
		if w.State == inspect.WebhookInstalled && slices.ContainsFunc(w.Rules, isOfRule) && !slices.ContainsFunc(w.Labels, isUnmet) {
			all = append(all, w)
		}
	}
	return all
}

// isMet reports whether labels meet a condition of [inspect.Webhook].Labels.
func isMet(condition string, labels map[string]string) bool {
	name, wants, _ := strings.Cut(condition, "=")
	value, ok := labels[name]
	switch wants {
	case "present":
		return ok
	case "absent":
		return !ok
	}
	return ok && slices.Contains(strings.Split(wants, ","), value)
}

// awaitReviews repeats a dry run until each webhook that matches the object has sent a review to the operator, or until the context ends. A
// rejection ends the wait, too: it comes from a webhook, or the object will also be rejected without the dry run.
func awaitReviews(ctx context.Context, operator func() *inspect.Snapshot, m apply.Manifest, known []inspect.APIResource, dryRun func(context.Context) (apply.Change, error)) {
	tick := time.NewTicker(webhooksInterval)
	defer tick.Stop()
	for {
		before := make(map[string]bool)
		for _, r := range operator().Reviews {
			before[r.ID] = true
		}
		change, err := dryRun(ctx)
		if err != nil && !isOutage(err) {
			return
		}
		operation := "UPDATE"
		if change == apply.Created {
			operation = "CREATE"
		}
		select {
		case <-tick.C: // the inspector publishes the reviews soon after the answer
		case <-ctx.Done():
			return
		}
		if err != nil {
			continue
		}
		reviews := 0
		for _, r := range operator().Reviews {
			if r.DryRun && r.Replay == "" && !before[r.ID] && r.Object.Name == m.Object.GetName() {
				reviews++
			}
		}
		if reviews >= len(matching(m, operator(), known, operation)) {
			return
		}
	}
}

// isOutage reports whether an error is the API server's answer to a request that may be accepted later.
func isOutage(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && (status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests)
}
