package e2e

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// remembers waits until the operator knows of as many objects.
func remembers(t *testing.T, client *inspect.Client, objects int) {
	t.Helper()
	var seen []inspect.Object
	eventually(t, "the operator forgets what is gone", func() bool {
		snapshot, err := client.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		seen = snapshot.Objects
		return len(seen) == objects
	}, func() any { return seen })
}

func TestWhatVanishesDuringAPauseIsGoneAfterIt(t *testing.T) {
	w, r, b := newWorld(t), newRoster(), &byField{}
	settings, client := inspected(t)
	release := make(chan struct{})
	reasons := make(chan kopf.StopReason, 1)
	op := w.run(func(reg *kopf.Registry) {
		b.register(reg, kexes)
		kopf.Daemon(reg, kexes, r.daemon("d", 0), kopf.ID("d"))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			defer r.enter("slow " + d.Name)()
			<-d.Stopping()
			if d.Name == "gone" {
				<-release
				reasons <- d.StopReason()
			}
			return nil
		}, kopf.ID("slow"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			defer r.enter("t " + c.Name)()
			kopf.MemoOf[roster](c.Memo)
			return nil
		}, kopf.ID("t"), kopf.Interval(time.Hour))
	}, setup{settings: settings})
	for _, name := range []string{"gone", "there"} {
		w.create(fielded(name, "x"))
		r.until(t, "d "+name, 1, 1)
		r.until(t, "slow "+name, 1, 1)
		r.until(t, "t "+name, 0, 1)
		w.untilHeld(name)
	}
	b.becomes(t, "x: gone there")

	intend(t, client, inspect.IntentPause)
	r.until(t, "d gone", 0, 1)
	w.delete("gone")
	w.patch("gone", tree{"metadata": tree{"finalizers": nil}})
	w.untilGone("gone")
	intend(t, client, inspect.IntentResume)

	b.becomes(t, "x: there")
	remembers(t, client, 1)
	r.until(t, "d there", 1, 2)
	// The one that had not ended yet is told the news, and does not bring the object back.
	close(release)
	if reason := <-reasons; reason != kopf.StopOperatorPausing|kopf.StopResourceDeleted {
		t.Errorf("it is told: %v", reason)
	}
	r.until(t, "slow gone", 0, 1)
	phases(t, client, "there", inspect.StateSettled, "by-field=done", "d=alive", "slow=alive", "t=ticking")
	remembers(t, client, 1)
	if n := r.count(r.all, "d gone") + r.count(r.all, "t gone"); n != 2 {
		t.Errorf("it is called for an object that is gone: %v", r.all)
	}
	r.neverTwice(t)
	op.stop()
}

func TestResourcesThatVanishDuringAPauseAreForgotten(t *testing.T) {
	w, r, b := newWorld(t), newRoster(), &byField{}
	w.res = testcluster.Examples(t, w.client)
	settings, client := inspected(t)
	op := w.run(func(reg *kopf.Registry) {
		resource := kopf.Resource(w.res.APIVersion(), w.res.Plural)
		b.register(reg, resource)
		b.register(reg, kexes)
		kopf.Daemon(reg, resource, r.daemon("d", 0), kopf.ID("d"))
		kopf.Daemon(reg, kexes, r.daemon("e", 0), kopf.ID("e"))
	}, setup{settings: settings})
	w.create(fielded("x", "gone"))
	r.until(t, "d x", 1, 1)
	vanishing := *w
	w.res = kex
	w.create(fielded("y", "there"))
	r.until(t, "e y", 1, 1)
	b.becomes(t, "gone: x; there: y")
	remembers(t, client, 2)

	intend(t, client, inspect.IntentPause)
	r.until(t, "d x", 0, 1)
	vanishing.untilHeld("x")
	vanishing.delete("x")
	vanishing.patch("x", tree{"metadata": tree{"finalizers": nil}})
	vanishing.untilGone("x")
	res := vanishing.res
	if err := testcluster.Delete(t.Context(), w.client, definitionResource, "", res.Plural+"."+res.Group); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the resource is not served any more", func() bool {
		_, err := w.client.WithoutRetries().List(t.Context(), res, "", kube.ListOptions{Limit: 1})
		return apierrors.IsNotFound(err)
	}, func() any { return op.journal.text() })
	intend(t, client, inspect.IntentResume)
	r.until(t, "e y", 1, 2)
	remembers(t, client, 1)
	b.becomes(t, "there: y")
}
