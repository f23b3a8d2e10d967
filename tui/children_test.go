package tui

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// withChildren returns a state in which a reconcile handler keeps children of claims.
func withChildren(now time.Time) *runner.State {
	s := demo(now)
	s.Snapshot.Handlers = append(s.Snapshot.Handlers, inspect.Handler{ID: "reconcile", Kind: inspect.KindReconcile, Selector: evcKey, Source: "claims.go:104"})
	for name, counts := range map[string]inspect.ChildCounts{
		"ml-train": {Ready: 4, Total: 4}, "old-logs": {Ready: 1, Failed: 2, Total: 12}, "web-cache": {Ready: 2, Failed: 1, Total: 5}, "web-data": {},
	} {
		for _, o := range s.Snapshot.Objects {
			if o.Name == name {
				o.Children = &counts
			}
		}
	}
	for _, o := range s.Snapshot.Objects {
		switch o.Name {
		case "web-data":
			o.Handlers = append(o.Handlers, inspect.HandlerState{ID: "reconcile", Kind: inspect.KindReconcile, State: inspect.PhaseDone})
			o.Pass = &inspect.Pass{Number: 3, Ended: now.Add(-12 * time.Minute), Took: ms, Outcome: inspect.PassComplete, Wakes: []inspect.Wake{{Kind: inspect.WakeStart}}, Pruned: 2}
		case "web-cache":
			o.Handlers = slices.Insert(o.Handlers, 3, inspect.HandlerState{ID: "reconcile", Kind: inspect.KindReconcile, State: inspect.PhaseRetrying,
				Error: &inspect.HandlerError{Kind: inspect.ErrorTemporary, Message: "Deployment web-cache: 1 of 3 replicas are ready"}})
			deployment := demoChildren(now, o.Ref).Children[1].KindRef
			o.Pass = &inspect.Pass{Number: 7, Ended: now.Add(-12 * time.Second), Took: 2 * ms, Outcome: inspect.PassWaiting,
				Message: "Deployment web-cache: 1 of 3 replicas are ready", Until: now.Add(588 * time.Second), Applied: 4, Unchanged: 3, Pruned: 1, Refused: 1,
				Wakes: []inspect.Wake{
					{Kind: inspect.WakeChild, Type: "MODIFIED", Object: &deployment, Changes: []inspect.DiffItem{
						{Op: inspect.DiffChange, Path: "status.readyReplicas", Old: int64(0), New: int64(1)},
						{Op: inspect.DiffChange, Path: "status.conditions", Old: []any{}, New: []any{map[string]any{"type": "Available", "status": "False"}}}}},
					{Kind: inspect.WakeVerify, Type: "MODIFIED", Object: &deployment},
					{Kind: inspect.WakeObject},
				}}
		}
	}
	return s
}

// demoChildren returns invented children of an object: web-cache has children in all states, web-data none, others one.
func demoChildren(now time.Time, parent inspect.Ref) *inspect.ChildList {
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	child := func(kind, resource, name string, state inspect.ChildState, result inspect.ChildResult, more ...func(*inspect.Child)) inspect.Child {
		c := inspect.Child{Parent: parent, State: state, Result: result,
			KindRef: inspect.KindRef{Kind: kind, Ref: inspect.Ref{Resource: resource, Namespace: parent.Namespace, Name: name, UID: "uid-of-" + kind + name}}}
		for _, f := range more {
			f(&c)
		}
		return c
	}
	if parent.Name == "web-data" {
		return &inspect.ChildList{}
	}
	config := child("ConfigMap", "configmaps.v1", parent.Name, inspect.ChildReady, inspect.ResultUnchanged)
	if parent.Name != "web-cache" {
		return &inspect.ChildList{Children: []inspect.Child{config}, Omitted: 3}
	}
	return &inspect.ChildList{Children: []inspect.Child{
		config,
		child("Deployment", "deployments.v1.apps", "web-cache", inspect.ChildProgressing, inspect.ResultReverted, func(c *inspect.Child) {
			c.Since, c.Message = ago(12*time.Second), "1 of 3 replicas are ready"
			c.Drift = []inspect.FieldDrift{
				{Path: "spec.replicas", Manager: "autoscaler", Scale: true, At: ago(4 * time.Minute), Outcome: inspect.DriftYielded, Count: 1},
				{Path: `spec.template.spec.containers[name="web"].image`, Manager: "kubectl-edit", At: ago(12 * time.Second), Outcome: inspect.DriftReverted, Count: 2},
			}
		}),
		child("PodDisruptionBudget", "poddisruptionbudgets.v1.policy", "web-cache", inspect.ChildReady, inspect.ResultYielded, func(c *inspect.Child) {
			c.Since = ago(11 * time.Minute)
			c.Drift = []inspect.FieldDrift{{Path: "spec.minAvailable", Manager: "kubectl-edit", At: ago(9 * time.Minute), Outcome: inspect.DriftReported, Count: 1}}
		}),
		child("Job", "jobs.v1.batch", "web-cache-migrate", inspect.ChildFailed, inspect.ResultUnchanged, func(c *inspect.Child) {
			c.Since, c.Message = ago(3*time.Minute), "it has failed: BackoffLimitExceeded"
		}),
		child("Ingress", "ingresses.v1.networking.k8s.io", "web-cache", "", inspect.ResultRefused, func(c *inspect.Child) {
			c.Error = "it exists, and is not ours: its controller is Gateway/edge"
		}),
		child("Secret", "secrets.v1", "web-cache-copy", "", inspect.ResultPruned, func(c *inspect.Child) { c.Namespace, c.Since = "backup", ago(12*time.Second) }),
	}}
}

func TestChildren_AskedForEachStateOfTheShownObject(t *testing.T) {
	u := start(t, "children", 80, 24).press("j", "j", "j", "j", "j").wait(time.Second)
	if len(u.source.asked) != 0 {
		t.Errorf("asked although the tab is not shown: %q", u.source.asked)
	}
	u.press("o").cursorOn("ConfigMap web-cache").sees("Deployment web-cache").press("j", "j").wait(time.Minute)
	if want := []string{"children of web-cache"}; !slices.Equal(u.source.asked, want) {
		t.Errorf("asked for %q, want %q", u.source.asked, want)
	}
	u.publish(func(*runner.State) {}) // copies all objects
	if want := []string{"children of web-cache", "children of web-cache"}; !slices.Equal(u.source.asked, want) {
		t.Errorf("asked for %q, want %q", u.source.asked, want)
	}
	u.press("y")
	u.publish(func(*runner.State) {})
	u.press("esc", "j", "o").sees("The reconcile handler applies no children").sees("nothing applied · 2 pruned")
	if len(u.source.asked) != 3 {
		t.Errorf("asked for %q", u.source.asked)
	}
}

func TestChildren_CursorStaysOnItsRow(t *testing.T) {
	u := start(t, "children", 120, 40).press("j", "j", "j", "j", "j", "o", "j", "j").cursorOn("reverted: took spec.template").
		sees(`reverted: took spec.template.spec.containers[name="web"].image back from kubectl-edit, 2 times, 12s ago`)
	u.publish(func(*runner.State) {}).cursorOn("reverted: took").press("G").cursorOn("Secret backup/web-cache-copy").press("j").cursorOn("backup/").
		press("k").cursorOn("Ingress").sees("its controller is Gateway/edge")
	u.click(5, 5).cursorOn("ConfigMap").sees("as the reconcile handler described it")
}

func TestChildren_EmptyTabSaysWhy(t *testing.T) {
	start(t, "children", 80, 24).press("enter").seesNot("Children").press("o").sees("Children").sees("No reconcile handler is called for this object").
		press("tab").sees("YAML").seesNot("Children").press("shift+tab").sees("cause").seesNot("Children")
	u := start(t, "children", 80, 24)
	u.source.old = true
	u.press("j", "j", "j", "j", "j", "o").sees("built with an older release of Kopf")

	u = start(t, "children", 80, 24)
	u.source.err = errors.New("connection refused")
	u.press("j", "j", "j", "j", "j", "o").sees("! connection refused").wait(4 * time.Second).wait(0).press("k")
	if len(u.source.asked) != 1 {
		t.Errorf("asked %d times", len(u.source.asked))
	}
	u.source.err = nil
	u.wait(time.Second).seesNot("connection").sees("ConfigMap web-cache")
	u.source.err = errors.New("connection refused")
	u.publish(func(*runner.State) {}).sees("! connection refused").sees("ConfigMap web-cache")
	u.publish(func(s *runner.State) { s.Live = false }).sees("not running; this is the last known state").sees("ConfigMap web-cache")
	u.publish(func(s *runner.State) { s.Live, s.Snapshot.Objects = true, s.Snapshot.Objects[:1] }).sees("This object was deleted").sees("ConfigMap web-cache")
}

func TestChildren_OmittedOnesAreCounted(t *testing.T) {
	start(t, "children", 80, 24).press("j", "j", "o").cursorOn("ConfigMap ml-train").sees("… 3 more").press("j").sees("not ready are listed before")
}

func TestWhy_NamesPassAndUnreadyChild(t *testing.T) {
	start(t, "children", 120, 40).press("j", "j", "j", "j", "j", "w").
		sees("woken by Deployment web-cache: status.readyReplicas 0 → 1 and 1 more change; by another client's change of").
		sees("Deployment web-cache (and 1 more)").
		sees("4 applied: 3 unchanged, 1 written · 1 pruned · 1 refused").
		sees("✗ 2/5 ready · ✗ failed Job web-cache-migrate: it has failed: BackoffLimitExceeded")
}

func TestChildren_EnterShowsYAMLWithManagersOfDrift(t *testing.T) {
	u := start(t, "children", 80, 24).press("j", "j", "j", "j", "j", "o", "j", "enter").
		sees("Deployment web-cache  ▸ progressing · 1 of 3 replicas are ready").sees("back from").sees("kubectl-edit, 2 times, 12s ago").
		sees("left spec.replicas to autoscaler (scale)").sees("apiVersion: kopf.dev/v1")
	looks := u.source.intents
	if got := looks[len(looks)-1]; got.Kind != runner.IntentLook || got.Object == nil || got.Object.Resource != "deployments.v1.apps" || got.Value != "object" {
		t.Errorf("the session was asked for %+v", got)
	}
	u.press("/").write("gold").press("enter").cursorOn("gold").press("m", "esc").sees("apiVersion")
	u.publish(func(*runner.State) {}).sees("apiVersion")
	u.press("esc").cursorOn("Deployment web-cache").seesNot("apiVersion")
	if got := u.source.intents[len(u.source.intents)-1]; got.Kind != runner.IntentLook || got.Object != nil {
		t.Errorf("the session still follows %+v", got)
	}
	u.press("enter", "o").cursorOn("Deployment web-cache").seesNot("apiVersion")
	u.press("G", "enter").sees("web-cache-copy does not exist")
	u.publish(func(s *runner.State) { s.Attached = "unix:/s" }).press("g", "enter").sees("kopf attach does not read children").seesNot("apiVersion")
	start(t, "children", 80, 24).press("j", "j", "o", "G", "enter").sees("no child is selected")
	start(t, "children", 80, 24).press("o", "enter").sees("no action on enter")
	u = start(t, "children", 80, 24).press("j", "j", "j", "j", "j", "o")
	u.click(5, 6).cursorOn("Deployment").click(5, 6).sees("apiVersion").press("esc", "esc").seesNot("Children")
}

func TestChildren_AnotherPassOnRequest(t *testing.T) {
	u := start(t, "children", 80, 24).press("/").write("web-data").press("enter").sees("r pass now").press("o", "r").sees("✓ another pass over the children of web-data")
	got := u.source.intents[len(u.source.intents)-1]
	if got.Kind != runner.IntentRetry || got.Object.Name != "web-data" || got.Handler != "" {
		t.Errorf("the intent is %+v", got)
	}
	u.press("h", "G", "T").sees("✓ retrying reconcile of web-data")
	start(t, "children", 80, 24).press("j", "j").sees("(r retry now)")
}

func TestChildren_ShowTheColumnsOfKubectl(t *testing.T) {
	u := start(t, "children", 120, 40).press("j", "j", "j", "j", "j")
	read := func() (resources []string) {
		for _, q := range u.source.objects.read {
			if q.Labels != "kopf.dev/owner-uid=uid-of-web-cache" || q.Namespace != "default" {
				t.Errorf("read %+v", q)
			}
			resources = append(resources, q.Resource)
		}
		u.source.objects.read = nil
		slices.Sort(resources)
		return resources
	}
	all := []string{"configmaps.v1", "deployments.v1.apps", "jobs.v1.batch", "poddisruptionbudgets.v1.policy"} // those of which there are children
	u.wait(time.Minute)
	if got := read(); got != nil {
		t.Errorf("read %q although the tab is not shown", got)
	}
	u.press("o", "j").cursorOn("READY 1/3  UP-TO-DATE 3").sees("READY 1/3  UP-TO-DATE 3  AVAILABLE 1  AGE 12m").wait(time.Second).wait(3 * time.Second)
	if got := read(); !slices.Equal(got, all) {
		t.Errorf("read %q, want %q", got, all)
	}
	u.wait(time.Second)
	if got := read(); !slices.Equal(got, all) {
		t.Errorf("after five seconds, read %q, want %q", got, all)
	}
	u.publish(func(*runner.State) {})
	if got := read(); got != nil {
		t.Errorf("with the operator's next answer, read %q at once", got)
	}
	u.source.objects.failed = "403 forbidden: no"
	u.wait(time.Second).cursorOn("Deployment").seesNot("READY").sees("! the columns of kubectl are unknown: 403 forbidden: no")
	read()
	u.press("enter").wait(time.Minute)
	if got := read(); got != nil {
		t.Errorf("read %q while the YAML of a child is shown", got)
	}
	u.press("esc", "h").wait(0)
	read()
	u.wait(time.Minute)
	if got := read(); got != nil {
		t.Errorf("read %q while the table is not shown", got)
	}
	u.source.objects.failed = ""
	u.resize(80, 24).press("o").cursorOn("Deployment web-cache").sees("READY 1/3  UP-TO-DATE 3  AVAILABLE 1  AGE 12m").seesNot("KUBECTL GET")
	u.publish(func(s *runner.State) { s.Attached = "unix:/s" }).wait(time.Minute)
	if read(); u.wait(time.Minute).source.objects.read != nil {
		t.Error("kopf attach has read from the cluster")
	}
}

func TestWhy_ShowsTheColumnsOfKubectl(t *testing.T) {
	u := start(t, "normal", 120, 40).press("j", "j", "j", "j", "j", "w").sees("SIZE 2Gi  PHASE Resizing  AGE 12m").wait(4 * time.Second)
	want := runner.RowQuery{Resource: evcKey, Namespace: "default", Name: "web-cache"}
	if got := u.source.objects.read; len(got) != 1 || got[0].Name != want.Name || got[0].Resource != want.Resource || got[0].Namespace != want.Namespace || got[0].Labels != "" {
		t.Errorf("read %+v", got)
	}
	u.source.objects.failed = "403 forbidden: no"
	u.wait(time.Second).sees("! the columns are unknown: 403 forbidden: no").press("h").wait(time.Minute)
	if got := u.source.objects.read; len(got) != 2 {
		t.Errorf("read %d times", len(got))
	}
}
