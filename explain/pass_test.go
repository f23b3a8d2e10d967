package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestWoken_NamesReasonsAndCountsTheRest(t *testing.T) {
	shop := &inspect.KindRef{Kind: "Deployment", Ref: inspect.Ref{Resource: "deployments.v1.apps", Namespace: "default", Name: "shop"}}
	change := func(path string, before, after any) inspect.DiffItem {
		return inspect.DiffItem{Op: inspect.DiffChange, Path: path, Old: before, New: after}
	}
	child := func(event string, changes ...inspect.DiffItem) inspect.Wake {
		return inspect.Wake{Kind: inspect.WakeChild, Type: event, Object: shop, Changes: changes}
	}
	ready := change("status.readyReplicas", int64(0), int64(1))
	for want, wakes := range map[string][]inspect.Wake{
		"": nil,
		"woken by Deployment shop: status.readyReplicas 0 → 1":                   {child("MODIFIED", ready)},
		"woken by Deployment shop: status.readyReplicas 0 → 1 and 1 more change": {child("MODIFIED", ready, change("status.replicas", int64(0), int64(1)))},
		"woken by Deployment shop: status.readyReplicas nothing → 1":             {child("MODIFIED", inspect.DiffItem{Op: inspect.DiffAdd, Path: "status.readyReplicas", New: int64(1)})},
		"woken by the new Deployment shop":                                       {child("ADDED")},
		"woken by the deletion of Deployment shop":                               {child("DELETED", ready)},
		"woken by another client's change of Deployment shop":                    {{Kind: inspect.WakeVerify, Type: "MODIFIED", Object: shop}},
		"woken by a change of the object":                                        {{Kind: inspect.WakeObject}, {Kind: inspect.WakeObject}},
		"woken by a change of the object; by a request (and 2 more)": {
			{Kind: inspect.WakeObject}, {Kind: inspect.WakeRequest}, {Kind: inspect.WakeRetry}, child("MODIFIED"),
		},
		"woken by tides": {{Kind: "tides"}},
		"woken by Deployment shop: spec " + strings.Repeat("x", 39) + "… → nothing": {child("MODIFIED", change("spec", strings.Repeat("x", 41), nil))},
	} {
		if got := Woken(&inspect.Pass{Wakes: wakes}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPass_ResultsAndOutcome(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	later := now.Add(9 * time.Second)
	for _, test := range []struct {
		pass inspect.Pass
		held string
		tone Tone
		want string
	}{
		{inspect.Pass{Outcome: inspect.PassComplete}, "", Dim, "nothing applied / "},
		{inspect.Pass{Outcome: inspect.PassComplete, Applied: 4, Unchanged: 4}, "", Dim, "4 applied, unchanged / "},
		{inspect.Pass{Outcome: inspect.PassComplete, Applied: 2, Until: later}, "", Dim, "2 applied, all written / again in 9s at the latest"},
		{
			inspect.Pass{Outcome: inspect.PassWaiting, Message: "Deployment shop: 1 of 3 replicas are ready", Applied: 4, Unchanged: 3, Pruned: 1, Refused: 2, Until: later}, "", Intended,
			"4 applied: 3 unchanged, 1 written · 1 pruned · 2 refused / waits: Deployment shop: 1 of 3 replicas are ready; again in 9s at the latest",
		},
		{inspect.Pass{Outcome: inspect.PassWaiting, Message: "the DNS"}, "", Intended, "nothing applied / waits: the DNS"},
		{inspect.Pass{Outcome: inspect.PassRetrying, Message: "no such host.", Until: later}, "", Warn, "nothing applied / failed: no such host; again in 9s"},
		{inspect.Pass{Outcome: inspect.PassRetrying, Message: "no such host", Until: later}, "paused", Warn, "nothing applied / failed: no such host; the next pass is held: paused"},
		{inspect.Pass{Outcome: inspect.PassFailed, Message: "spec.host is invalid"}, "", Err, "nothing applied / failed permanently: spec.host is invalid"},
		{inspect.Pass{Outcome: "dreaming"}, "", Dim, "nothing applied / dreaming"},
	} {
		tone, outcome := PassOutcome(&test.pass, now, test.held)
		if got := PassResults(&test.pass) + " / " + outcome; got != test.want || tone != test.tone {
			t.Errorf("%q in tone %v, want %q in tone %v", got, tone, test.want, test.tone)
		}
	}
	if got := Undeclared(&inspect.Pass{Undeclared: []string{"jobs.batch", "ingresses.networking.k8s.io"}}); !strings.HasSuffix(got, "declares: jobs.batch and ingresses.networking.k8s.io") {
		t.Error(got)
	}
	if got := Undeclared(&inspect.Pass{}); got != "" {
		t.Error(got)
	}
	if got := Unserved(&inspect.Pass{Unserved: []string{"monitoring.coreos.com/v1 servicemonitors"}}); !strings.HasSuffix(got, "children of monitoring.coreos.com/v1 servicemonitors") {
		t.Error(got)
	}
	summed := inspect.Pass{Outcome: inspect.PassWaiting, Message: "the DNS", Applied: 1, Wakes: []inspect.Wake{{Kind: inspect.WakeObject}}, Undeclared: []string{"jobs.batch"}}
	if got, want := PassText(&summed, now, ""), "woken by a change of the object · 1 applied, all written · waits: the DNS · children of an earlier release, of kinds that no handler declares: jobs.batch"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
