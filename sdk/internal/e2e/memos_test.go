package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func TestAMemoLivesAsLongAsItsObject(t *testing.T) {
	cluster, c, watches := newCluster(t), &calls{}, &breaker{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.NewIndex(r, kexes, func(_ context.Context, p *indexed) (map[string]int, error) {
			kopf.MemoOf[tally](p.Memo).add(fmt.Sprint("indexed ", p.Object.Get("spec.field")))
			return nil, nil
		}, kopf.ID("index"))
		kopf.OnEvent(r, kexes, func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			at := fmt.Sprint(e.Object.Get("spec.field"))
			seen := kopf.MemoOf[tally](e.Memo).add("event " + at)
			c.add(fmt.Sprint(at, " ", len(seen)/2))
			if !slices.Contains(seen, "indexed "+at) {
				t.Errorf("%s: the indexing function has another memo: %v", at, seen)
			}
			return nil
		}, kopf.ID("event"))
	}, transport(watches.wrap))
	x := cluster.Create(fielded("x", "created"))
	c.wait(cluster, "created 1", 1)
	x.Patch(field("changed"))
	c.wait(cluster, "changed 2", 1)

	watches.end(expired)
	x.Patch(field("listed again"))
	c.wait(cluster, "listed again 3", 1)

	op.Pause()
	op.WaitLog("Stopping the watch-stream for kopfexamples")
	x.Patch(field("paused"))
	op.Resume()
	c.wait(cluster, "paused 4", 1)

	x.Delete()
	x.WaitGone()
	cluster.Create(fielded("x", "anew"))
	c.wait(cluster, "anew 1", 1)
}

// shelf is what objects have copies of.
type shelf struct{ tally }

// Clone makes a copy that has the same on it.
func (s *shelf) Clone() *shelf {
	clone := &shelf{}
	clone.seen = s.add("")
	return clone
}

func TestObjectsBeginWithWhatTheOperatorsMemoHas(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			kopf.MemoOf[tally](a.Memo).add("shared")
			kopf.MemoOf[shelf](a.Memo).add("own")
			return nil
		}, kopf.ID("startup"))
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			kopf.MemoOf[tally](r.Memo).add(r.Name)
			c.add(fmt.Sprint(r.Name, " ", kopf.MemoOf[shelf](r.Memo).add(r.Name)))
			return nil
		}, kopf.ID("create"))
		kopf.OnCleanup(r, func(_ context.Context, a *kopf.Activity) error {
			c.add(fmt.Sprint(kopf.MemoOf[tally](a.Memo).add(""), kopf.MemoOf[shelf](a.Memo).add("")))
			return nil
		}, kopf.ID("cleanup"))
	})
	for _, name := range []string{"a", "b"} {
		cluster.Create(example(name))
		waitHandled(cluster.Object(kex.name(), name))
	}
	op.Stop()
	c.are(t, "a [ a own]", "b [ b own]", "[ a b shared] [ own]")
}
