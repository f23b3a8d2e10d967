package settlement

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ref(name string) inspect.Ref {
	return inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: name, UID: "uid-" + name}
}

func applied(name, version string) Applied { return Applied{Ref: ref(name), Version: version} }

func seen(name, version string, state inspect.ObjectState, handlers ...inspect.HandlerState) inspect.Object {
	return inspect.Object{Ref: ref(name), Short: "th", ResourceVersion: version, State: state, Handlers: handlers}
}

// Running is a snapshot of an operator that serves things.
func running(objects ...inspect.Object) *inspect.Snapshot {
	var all []*inspect.Object
	for i := range objects {
		all = append(all, &objects[i])
	}
	return &inspect.Snapshot{
		Operator: inspect.Operator{State: inspect.OperatorRunning},
		Served:   []inspect.Resource{{Key: "things.v1.example.com", Listed: true}},
		Objects:  all,
	}
}

// SettledOperator makes the operator of a snapshot a settled one.
func settledOperator(s *inspect.Snapshot) *inspect.Snapshot {
	s.Operator.Settled = true
	return s
}

// reviewing is a snapshot of an operator with one admission handler of things, and no others.
func reviewing(state inspect.WebhookState) *inspect.Snapshot {
	webhook := inspect.Webhook{Handler: "limits", Rules: []inspect.WebhookRule{{Resource: "things.v1.example.com"}}, State: state}
	if state == inspect.WebhookFailed {
		webhook.Error = "forbidden:\nno rights"
	}
	return settledOperator(&inspect.Snapshot{
		Operator:  inspect.Operator{State: inspect.OperatorRunning},
		Reviewed:  []string{"things.v1.example.com"},
		Admission: &inspect.Admission{Webhooks: []inspect.Webhook{webhook}},
	})
}

// starting makes the operator of a snapshot one that has just started.
func starting(s *inspect.Snapshot) *inspect.Snapshot {
	s.Operator.State = inspect.OperatorStarting
	return s
}

// withoutRules removes the rules of the webhooks of a snapshot.
func withoutRules(s *inspect.Snapshot) *inspect.Snapshot {
	s.Admission.Webhooks[0].Rules = nil
	return s
}

// alsoServing adds a watched resource to a snapshot.
func alsoServing(s *inspect.Snapshot) *inspect.Snapshot {
	s.Served = running().Served
	return s
}

// misspelt adds a selector to a snapshot that the cluster does not serve.
func misspelt(s *inspect.Snapshot) *inspect.Snapshot {
	s.Unserved = []inspect.Unserved{{Selector: "secretes", Reason: "unresolved", Handlers: []string{"create"}}}
	return s
}

var (
	secret = Applied{Ref: inspect.Ref{Resource: "secrets.v1", Namespace: "default", Name: "s", UID: "s"}}
	typo   = Applied{Ref: inspect.Ref{Resource: "others.v1.example.com", Name: "o", UID: "o"}}
)

var (
	peeringObject = Applied{Ref: inspect.Ref{Resource: "clusterkopfpeerings.v1.kopf.dev", Name: "default", UID: "p"}}
	failingTimer  = inspect.HandlerState{ID: "tick", Kind: inspect.KindTimer, State: inspect.PhaseTicking, Attempt: 2,
		Attempts: []inspect.Attempt{{Error: &inspect.HandlerError{Message: "panic: oops"}}}}
	waitedDaemon = inspect.HandlerState{ID: "watch", Kind: inspect.KindDaemon, State: inspect.PhaseAlive, Attempt: 2,
		Attempts: []inspect.Attempt{{Error: &inspect.HandlerError{Kind: inspect.ErrorTemporary, Message: "not yet"}}}}
	failedTimer = inspect.HandlerState{ID: "tick", Kind: inspect.KindTimer, State: inspect.PhaseFailed, Attempt: 3,
		Error: &inspect.HandlerError{Message: "no more"}}
)

// texts returns the entries of a settlement as text.
func texts(s Settlement) map[string][]string {
	all := make(map[string][]string)
	for _, u := range s.Pending {
		all["pending"] = append(all["pending"], u.String())
	}
	for _, u := range s.Failed {
		all["failed"] = append(all["failed"], u.String())
	}
	return all
}

func TestSettling_AppliedVersionMustBeHandled(t *testing.T) {
	retrying := inspect.HandlerState{ID: "resize", State: inspect.PhaseRetrying, Attempt: 2, Limit: 5, Next: now.Add(12 * time.Second), Error: &inspect.HandlerError{Message: "still\nattached"}}
	done := inspect.HandlerState{ID: "create", State: inspect.PhaseDone, Attempt: 1}
	failed := inspect.HandlerState{ID: "create", State: inspect.PhaseFailed, Attempt: 3, Error: &inspect.HandlerError{Message: "no size"}}
	for name, test := range map[string]struct {
		applied  []Applied
		snapshot *inspect.Snapshot
		want     map[string][]string
	}{
		"settled at the version":    {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateSettled, done)), map[string][]string{}},
		"settled after the version": {[]Applied{applied("a", "99")}, running(seen("a", "100", inspect.StateSettled)), map[string][]string{}},
		"one is ignored":            {[]Applied{applied("a", "10"), applied("b", "10")}, running(seen("a", "10", inspect.StateIgnored), seen("b", "10", inspect.StateSettled)), map[string][]string{}},
		"all are ignored": {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateIgnored)), map[string][]string{
			"failed": {"no handler matches any of the applied objects: check the filters"}}},
		"settled before": {[]Applied{applied("a", "100")}, running(seen("a", "99", inspect.StateSettled)), map[string][]string{
			"pending": {"th/default/a: the operator has not seen version 100 yet, only 99"}}},
		"not seen": {[]Applied{applied("a", "10")}, running(), map[string][]string{
			"pending": {"things/default/a: not seen by the operator yet"}}},
		"retrying": {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateRetrying, retrying, done)), map[string][]string{
			"pending": {"th/default/a: resize: will be retried in 12s (attempt 2 of 5): still attached"}}},
		"failed permanently": {[]Applied{applied("a", "10"), applied("b", "10")}, running(seen("a", "10", inspect.StateFailed, failed), seen("b", "10", inspect.StateSettled)), map[string][]string{
			"failed": {"th/default/a: create: failed permanently (attempt 3): no size"}}},
		"waiting": {[]Applied{applied("a", "10")}, running(inspect.Object{Ref: ref("a"), ResourceVersion: "10", State: inspect.StateWaiting, Waiting: &inspect.Waiting{Wrote: "12", Seen: "11"}}), map[string][]string{
			"pending": {"things/default/a: waits until the operator sees its own patch: version 12, seen 11"}}},
		"a PATCH without an answer": {[]Applied{applied("a", "10")}, running(inspect.Object{Ref: ref("a"), ResourceVersion: "10", State: inspect.StateWaiting, Unanswered: &inspect.Unanswered{Since: now.Add(-12 * time.Second)}}), map[string][]string{
			"pending": {"things/default/a: waits for the answer of the API server to the operator's PATCH, sent 12s ago"}}},
		"without versions to compare":               {[]Applied{applied("a", "x")}, running(seen("a", "y", inspect.StateSettled)), map[string][]string{}},
		"another version of the API":                {[]Applied{{Ref: inspect.Ref{Resource: "things.v1beta1.example.com", Namespace: "default", Name: "a"}}}, running(seen("a", "1", inspect.StateSettled)), map[string][]string{}},
		"what comes with Kubernetes, beside others": {[]Applied{secret, applied("a", "10")}, running(seen("a", "10", inspect.StateSettled)), map[string][]string{}},
		"only what comes with Kubernetes": {[]Applied{secret}, settledOperator(running(seen("a", "10", inspect.StateRetrying, retrying))), map[string][]string{
			"pending": {"th/default/a: resize: will be retried in 12s (attempt 2 of 5): still attached"}}},
		"a peering object, beside others": {[]Applied{peeringObject, applied("a", "10")}, running(seen("a", "10", inspect.StateSettled)), map[string][]string{}},
		"a timer that fails is called again": {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateRetrying, failingTimer)), map[string][]string{
			"pending": {"th/default/a: tick: is called again after a failure (attempt 2): panic: oops"}}},
		"a retried handler and a daemon that has waited": {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateRetrying, retrying, waitedDaemon)), map[string][]string{
			"pending": {"th/default/a: resize: will be retried in 12s (attempt 2 of 5): still attached"}}},
		"a timer that has failed for good": {[]Applied{applied("a", "10")}, running(seen("a", "10", inspect.StateFailed, failedTimer)), map[string][]string{
			"failed": {"th/default/a: tick: failed permanently (attempt 3): no more"}}},
		"a custom resource without handlers": {[]Applied{typo, applied("a", "10")}, running(seen("a", "10", inspect.StateSettled)), map[string][]string{
			"failed": {"others/o: no handler matches this resource"}}},
		"a handler for a misspelt resource": {[]Applied{secret, applied("a", "10")}, misspelt(running(seen("a", "10", inspect.StateSettled))), map[string][]string{
			"failed": {"secrets/default/s: no handler matches this resource; the cluster does not serve secretes (of create): check the names"}}},
		"a resource that a handler waits for": {[]Applied{{Ref: inspect.Ref{Resource: "others.v1.example.com", Name: "o", UID: "o"}}},
			&inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorRunning}, Unserved: []inspect.Unserved{{Selector: "others.example.com", Reason: "unresolved"}}},
			map[string][]string{"pending": {"others/o: not seen by the operator yet"}}},
		"a paused operator": {[]Applied{applied("a", "10")}, &inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorPaused, Reason: "peer other"}},
			map[string][]string{"pending": {"things/default/a: the operator is paused: peer other"}}},
		"a starting operator": {[]Applied{applied("a", "10")}, &inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorStarting}},
			map[string][]string{"pending": {"things/default/a: the operator is still starting"}}},
		"nothing applied, starting":    {nil, &inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorStarting, Settled: true}}, map[string][]string{"pending": {"the operator is still starting"}}},
		"nothing applied, all settled": {nil, settledOperator(running()), map[string][]string{}},
		"nothing applied and nothing served": {nil, &inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorRunning, Settled: true}}, map[string][]string{
			"failed": {"the operator serves no resource"}}},
		"nothing applied and a misspelt resource": {nil, misspelt(&inspect.Snapshot{Operator: inspect.Operator{State: inspect.OperatorRunning, Settled: true}}), map[string][]string{
			"failed": {"the operator serves no resource; the cluster does not serve secretes (of create): check the names"}}},
		"only admission handlers":                   {nil, reviewing(inspect.WebhookInstalled), map[string][]string{}},
		"only admission handlers, not managed":      {nil, reviewing(inspect.WebhookUnmanaged), map[string][]string{}},
		"only admission handlers, and an object":    {[]Applied{applied("a", "10")}, reviewing(inspect.WebhookInstalled), map[string][]string{}},
		"only admission handlers, and a definition": {[]Applied{secret}, reviewing(inspect.WebhookInstalled), map[string][]string{}},
		"only admission handlers, and another object": {[]Applied{typo}, reviewing(inspect.WebhookInstalled), map[string][]string{
			"failed": {"others/o: no handler matches this resource"}}},
		"only admission handlers, starting": {[]Applied{applied("a", "10")}, starting(reviewing(inspect.WebhookPending)), map[string][]string{
			"pending": {"things/default/a: the operator is still starting", "limits: its webhook is not installed yet"}}},
		"webhooks that are not installed yet": {[]Applied{applied("a", "10")}, reviewing(inspect.WebhookPending), map[string][]string{
			"pending": {"limits: its webhook is not installed yet"}}},
		"webhooks that are refused": {nil, reviewing(inspect.WebhookFailed), map[string][]string{
			"pending": {"limits: its webhook is not installed: forbidden: no rights"}}},
		"webhooks of before a resource was there": {[]Applied{applied("a", "10")}, withoutRules(reviewing(inspect.WebhookInstalled)), map[string][]string{
			"pending": {"the webhooks of things.v1.example.com are not installed yet"}}},
		"admission handlers beside others": {[]Applied{applied("a", "10")}, alsoServing(reviewing(inspect.WebhookInstalled)), map[string][]string{
			"pending": {"things/default/a: not seen by the operator yet"}}},
		"nothing applied, not listed": {nil, running(), map[string][]string{"pending": {"not seen by the operator yet"}}},
		"nothing applied, one fails":  {nil, running(seen("a", "1", inspect.StateFailed, failed)), map[string][]string{"failed": {"th/default/a: create: failed permanently (attempt 3): no size"}, "pending": {"not seen by the operator yet"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, texts(NewSettling(test.applied).Check(test.snapshot, now))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSettling_DeletedObjectIsSettled(t *testing.T) {
	s := NewSettling([]Applied{applied("a", "10")})
	if s.Check(running(seen("a", "10", inspect.StateRunning)), now).Done() {
		t.Error("it is settled while a handler runs")
	}
	if got := s.Check(running(), now); !got.Done() {
		t.Errorf("got %+v", got)
	}
}

func TestAwaitSettled_TimeoutNamesPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := make(chan func() Settlement, 1)
		news <- Settlement{
			Pending: []Unsettled{{Object: "th/default/a", Handler: "resize", What: "is running"}},
			Failed:  []Unsettled{{Object: "th/default/b", Handler: "create", What: "failed permanently"}},
		}.Known
		_, err := Await(t.Context(), time.Minute, news)
		if want := "not settled after 1m0s\nth/default/b: create: failed permanently\nth/default/a: resize: is running"; err == nil || err.Error() != want {
			t.Errorf("got %v", err)
		}
	})
}

func TestAwaitSettled_ReportsFailureWhenNothingIsPending(t *testing.T) {
	failed := []Unsettled{{Object: "th/default/b", Handler: "create", What: "failed permanently"}}
	news := make(chan func() Settlement, 2)
	news <- Settlement{Pending: []Unsettled{{What: "one more"}}, Failed: failed}.Known
	news <- Settlement{Failed: failed}.Known
	_, err := Await(t.Context(), 0, news)
	if settle, ok := errors.AsType[*SettleError](err); !ok || settle.Timeout != 0 || !strings.HasPrefix(err.Error(), "a handler has failed permanently\nth/default/b") {
		t.Errorf("got %v", err)
	}
}

func TestAwaitSettled_StopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Await(ctx, 0, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestSettling_FormerFailuresArePendingWhenRetried(t *testing.T) {
	failed := inspect.HandlerState{ID: "create", State: inspect.PhaseFailed, Attempt: 1, Started: now.Add(-time.Hour)}
	after := func(failed inspect.HandlerState) *inspect.Snapshot {
		snapshot := running(seen("a", "10", inspect.StateFailed, failed))
		snapshot.Operator.Started = now.Add(-time.Minute)
		return snapshot
	}
	s := NewSettling([]Applied{applied("a", "10")})
	s.retrying = true
	if got := s.Check(after(failed), now); got.Done() {
		t.Errorf("it is not called again, but: %+v", got)
	}
	failed.Attempts = make([]inspect.Attempt, 1)
	if got := s.Check(after(failed), now); !got.Done() || len(got.Failed) != 1 {
		t.Errorf("it failed again, but: %+v", got)
	}
	// Another change, which does not call the handler, leaves its failure without the attempts.
	failed.Attempts, failed.Started = nil, now
	if got := s.Check(after(failed), now); !got.Done() || len(got.Failed) != 1 {
		t.Errorf("it failed after the start, but: %+v", got)
	}
}

func TestSummary_CountsObjectsAndHandlers(t *testing.T) {
	attempt := make([]inspect.Attempt, 1)
	done := inspect.HandlerState{ID: "create", State: inspect.PhaseDone, Attempts: attempt}
	failed := inspect.HandlerState{ID: "notify", State: inspect.PhaseFailed, Attempts: attempt}
	other := inspect.HandlerState{ID: "update", State: inspect.PhaseOtherCause}
	settled := inspect.StateSettled
	for want, snapshot := range map[string]*inspect.Snapshot{
		"settled: 0 objects; 0 handlers succeeded":                       settledOperator(running()),
		"settled: 1 object; 1 handler succeeded":                         settledOperator(running(seen("a", "1", settled, done, other))),
		"settled: 2 objects, 1 with nothing to do; 1 handler succeeded":  settledOperator(running(seen("a", "1", settled, done), seen("b", "1", settled, other))),
		"not settled: 1 object, 1 failed; 1 handler succeeded, 1 failed": settledOperator(running(seen("a", "1", inspect.StateFailed, done, failed))),
		"settled: 0 objects; 0 handlers succeeded, 1 webhook installed":  reviewing(inspect.WebhookInstalled),
		"settled: 2 objects, 1 without handlers; 1 handler succeeded":    settledOperator(running(seen("a", "1", settled, done), seen("b", "1", inspect.StateIgnored))),
	} {
		if got := NewSettling(nil).Check(snapshot, now).Summary(); got != want {
			t.Errorf("got %q instead of %q", got, want)
		}
	}
}
