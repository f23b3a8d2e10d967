package tui

import (
	"slices"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner"
)

func TestChildren_UnfoldedToReplicaSetsAndPods(t *testing.T) {
	u := start(t, "children", 120, 40).press("j", "j", "j", "j", "j", "o")
	read := func() (resources []string) {
		for _, q := range u.source.objects.read {
			if q.Labels == "" { // the others are the columns of the children
				resources = append(resources, q.Resource)
			}
		}
		u.source.objects.read = nil
		slices.Sort(resources)
		return resources
	}
	u.press("f").sees("only workloads, such as Deployments and Jobs, have objects below them").press("esc", "j").cursorOn("▸ Deployment web-cache")
	if got := read(); got != nil {
		t.Errorf("read %q before anything is unfolded", got)
	}
	u.press("f").cursorOn("▾ Deployment web-cache").sees("└ ▸ ReplicaSet web-cache-7d4f9c  DESIRED 3").sees("└ ▸ ReplicaSet web-cache-55b8f").seesNot("Pod web")
	u.press("j", "j", "j", "f").cursorOn("▾ ReplicaSet web-cache-7d4f9c").sees("└ Pod web-cache-7d4f9c-9bzrt  READY 0/1  STATUS ImagePullBackOff").sees("└ … and more")
	if got := read(); !slices.Equal(got, []string{"below deployments.v1.apps", "below replicasets.v1.apps"}) {
		t.Errorf("read %q", got)
	}
	u.wait(4 * time.Second).press("j").cursorOn("Pod web-cache-7d4f9c-2xkqm")
	if got := read(); got != nil {
		t.Errorf("read %q after four seconds", got)
	}
	u.publish(func(*runner.State) {}).cursorOn("Pod web-cache-7d4f9c-2xkqm").wait(time.Second)
	if got := read(); !slices.Equal(got, []string{"below deployments.v1.apps", "below replicasets.v1.apps"}) {
		t.Errorf("after five seconds, read %q", got)
	}
	u.press("f").sees("only workloads").press("esc", "enter").sees("Pod web-cache-7d4f9c-2xkqm  READY 1/1  STATUS Running").sees("apiVersion")
	if got := u.source.intents[len(u.source.intents)-1]; got.Kind != runner.IntentLook || got.Object == nil || got.Object.Resource != "pods.v1" || got.Object.Name != "web-cache-7d4f9c-2xkqm" {
		t.Errorf("the session was asked for %+v", got)
	}
	u.press("esc").cursorOn("Pod web-cache-7d4f9c-2xkqm").press("j", "j").cursorOn("… and more").press("enter").sees("no object is selected").press("esc", "f").
		cursorOn("▸ ReplicaSet web-cache-7d4f9c").seesNot("Pod web")
	u.press("k", "k", "k", "f").cursorOn("▸ Deployment").seesNot("ReplicaSet").wait(time.Minute)
	if got := read(); got != nil {
		t.Errorf("read %q although all is folded", got)
	}
}

func TestChildren_BelowShowsErrorsAndEmptyWorkloads(t *testing.T) {
	u := start(t, "children", 120, 40).press("j", "j", "j", "j", "j", "o", "G", "k", "k").cursorOn("▸ Job web-cache-migrate").press("f", "j").
		cursorOn("└ ✗ pods: 403 forbidden: pods is forbidden").sees(" another context").press("f").cursorOn("▸ Job web-cache-migrate").seesNot("403")
	u.press("G").cursorOn("Secret").press("f").sees("web-cache-copy does not exist")
	u.press("g", "j", "f", "j", "j", "j", "j").cursorOn("web-cache-55b8f").press("f").sees("└ none")
	u.publish(func(s *runner.State) { s.Attached = "unix:/s" }).press("g", "j").cursorOn("Deployment").seesNot("▾ Deployment").press("f").sees("kopf attach does not read children")
}
