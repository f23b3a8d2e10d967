package tui

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// admitting returns an operator with admission handlers, with reviews of every outcome.
func admitting(now time.Time) *runner.State {
	s := demo(now)
	s.Webhooks = runner.Webhooks{Phase: runner.WebhooksOpen, Way: "direct", Why: "the embedded cluster runs on this machine", Address: "https://127.0.0.1:40123"}
	all := []inspect.WebhookRule{{Resource: evcKey, Operations: []string{"CREATE", "UPDATE"}}}
	s.Snapshot.Handlers = append(s.Snapshot.Handlers,
		inspect.Handler{ID: "defaults", Kind: inspect.KindMutate, Selector: evcKey, Source: "claims.go:102"},
		inspect.Handler{ID: "limits", Kind: inspect.KindValidate, Selector: evcKey, Source: "claims.go:110"})
	s.Snapshot.Admission = &inspect.Admission{
		Way: "https://127.0.0.1:40123/secret", Managed: "dev.kopf.dev", Session: "s1",
		Webhooks: []inspect.Webhook{
			{Handler: "defaults", Kind: inspect.KindMutate, Name: "defaults.dev.kopf.dev", Rules: all, FailurePolicy: "Ignore", State: inspect.WebhookInstalled},
			{Handler: "limits", Kind: inspect.KindValidate, Name: "limits.dev.kopf.dev", Rules: all, Labels: []string{"tier=gold"}, FailurePolicy: "Ignore", State: inspect.WebhookInstalled},
			{Handler: "keep", Kind: inspect.KindValidate, Name: "keep.dev.kopf.dev", Rules: []inspect.WebhookRule{{Resource: evcKey, Operations: []string{"DELETE"}}, {Resource: evcKey, Sub: "status", Operations: []string{"*"}}},
				FailurePolicy: "Fail", Persistent: true, State: inspect.WebhookPending},
		},
	}
	me := inspect.User{Name: "me", Groups: []string{"system:masters", "system:authenticated"}}
	review := func(id string, ago time.Duration, operation, name string, more func(*inspect.Review)) inspect.Review {
		r := inspect.Review{
			ID: id, At: now.Add(-ago), User: me, Operation: operation, Kind: "EphemeralVolumeClaim", Allowed: true, Took: 4 * ms,
			Object:   inspect.Ref{Resource: evcKey, Namespace: "default", Name: name},
			Handlers: []inspect.ReviewedHandler{{ID: "limits", Kind: inspect.KindValidate, Took: 3 * ms}},
		}
		if more != nil {
			more(&r)
		}
		return r
	}
	s.Snapshot.Reviews = []inspect.Review{
		review("1", 12*time.Minute, "CREATE", "web-data", nil),
		review("2", 5*time.Minute, "UPDATE", "web-cache", func(r *inspect.Review) {
			r.Warnings = []string{"spec.size: 2Gi is more than the others have"}
		}),
		review("3", time.Minute, "CREATE", "", func(r *inspect.Review) {
			r.Handlers[0] = inspect.ReviewedHandler{ID: "defaults", Kind: inspect.KindMutate, Took: 2 * ms}
			r.Patch = []inspect.DiffItem{{Op: inspect.DiffAdd, Path: "spec.size", New: "1Gi"}, {Op: inspect.DiffChange, Path: "spec.ttl", Old: int64(0), New: int64(60)}}
		}),
		review("4", 20*time.Second, "UPDATE", "reports", func(r *inspect.Review) { r.Subresource, r.DryRun = "status", true }),
		review("5", 2*time.Second, "CREATE", "batch-scratch", func(r *inspect.Review) {
			r.Allowed, r.Code, r.Message, r.User.Name = false, 422, "spec.size must be set: without it, nothing can be bound", "system:serviceaccount:ci:deployer"
			r.Handlers[0].Error = &inspect.HandlerError{Kind: inspect.ErrorAdmission, Message: r.Message}
		}),
	}
	return s
}

func noWayIn(now time.Time) *runner.State {
	s := admitting(now)
	s.Snapshot, s.Live = nil, false
	s.Webhooks = runner.Webhooks{Phase: runner.WebhooksFailed, Error: "k3d (the cluster is one of k3d): the API server does not reach https://host.k3d.internal:40123: no such host"}
	s.Process = runner.Process{Phase: runner.ProcessCrashed, Error: "the operator has admission handlers, and the cluster cannot call them: " + s.Webhooks.Error}
	return s
}

func wayInLost(now time.Time) *runner.State {
	s := admitting(now)
	s.Webhooks = runner.Webhooks{Phase: runner.WebhooksLost, Way: "relay", Why: "--webhook-relay-image is given", Address: "service default/kopf-relay-s1:443",
		Error: "pod default/kopf-relay-s1 of the relay was deleted; creating it again"}
	return s
}

func manyReviews(now time.Time) *runner.State {
	s := admitting(now)
	for i := range inspect.MaxReviews - 5 {
		r := s.Snapshot.Reviews[i%5]
		r.ID, r.Object.Name = fmt.Sprint(100+i), fmt.Sprintf("claim-%d", i)
		s.Snapshot.Reviews = append(s.Snapshot.Reviews, r)
	}
	return s
}

func TestWebhooks_ReplaySendsSelectedReview(t *testing.T) {
	u := start(t, "admitting", 100, 30).press("5", "j").cursorOn("reports").press("P")
	want := runner.Intent{Kind: runner.IntentReplay, Value: "4"}
	if got := u.source.intents; len(got) != 1 || got[0] != want {
		t.Errorf("it sends %+v", got)
	}
	u.sees("replayed update status, dry evc default/reports")
	u.source.err = errors.New("the review is too old")
	u.press("P").sees("the review is too old")
}

func TestWebhooks_CursorStaysOnChosenReview(t *testing.T) {
	u := start(t, "admitting", 100, 30).press("5").cursorOn("batch-scratch")
	another := func(name string) func(*runner.State) {
		return func(s *runner.State) {
			r := s.Snapshot.Reviews[0]
			r.ID, r.Object.Name = name, name
			s.Snapshot.Reviews = append(s.Snapshot.Reviews[:len(s.Snapshot.Reviews):len(s.Snapshot.Reviews)], r)
		}
	}
	u.publish(another("newer")).cursorOn("newer") // until another one is chosen
	u.press("j").cursorOn("batch-scratch")
	u.publish(another("newest")).cursorOn("batch-scratch")
}

func TestWebhooks_FilterSearchesReviews(t *testing.T) {
	start(t, "admitting", 100, 30).press("5", "/").write("denied").press("enter").
		sees("batch-scratch").seesNot("reports").
		press("esc").sees("reports")
}

func TestWebhooks_TabIsThatOfAdmissionHandlers(t *testing.T) {
	start(t, "normal", 80, 24).seesNot("5 Webhooks").press("5").sees("There are no admission handlers.")
	start(t, "admitting", 80, 24).sees("5 Webhooks")
}

func TestWebhooks_WayInOfOperatorIsShown(t *testing.T) {
	u := start(t, "admitting", 100, 30).press("5").sees("✓ direct at https://127.0.0.1:40123 · the embedded cluster runs on this machine")
	u.publish(func(s *runner.State) { s.Webhooks = runner.Webhooks{} }).sees("https://127.0.0.1:40123/secret · the operator's own")
	u.publish(func(s *runner.State) { s.Webhooks.Phase = runner.WebhooksOpening }).sees("▸ being opened and checked")
}

func TestWebhooks_LostWayInIsShownUntilItIsBack(t *testing.T) {
	const lost = "✗ lost, being opened again; nothing is reviewed until then"
	start(t, "way-in-lost", 120, 30).sees("✗ tunnel for webhooks lost").press("5").
		sees("✗ tunnel lost").sees(lost).sees("pod default/kopf-relay-s1 of the relay was deleted; creating it again").
		publish(func(s *runner.State) { s.Webhooks.Phase, s.Webhooks.Error = runner.WebhooksOpen, "" }).
		seesNot("lost").sees("✓ relay at service default/kopf-relay-s1:443")

	// An operator that runs elsewhere publishes the lost tunnel itself.
	u := start(t, "admitting", 120, 30).press("5").publish(func(s *runner.State) {
		admission := *s.Snapshot.Admission
		admission.Lost = "the tunnel has gone"
		s.Webhooks, s.Snapshot.Admission = runner.Webhooks{}, &admission
	})
	u.sees(lost).sees("the tunnel has gone")
}
