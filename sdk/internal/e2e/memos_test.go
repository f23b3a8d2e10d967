package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// tally records the handlers' observations of an object. The handlers share it through the memo.
type tally struct {
	mu   sync.Mutex
	seen []string
}

func (t *tally) add(what string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = append(t.seen, what)
	slices.Sort(t.seen)
	t.seen = slices.Compact(t.seen)
	return slices.Clone(t.seen)
}

func TestMemo_SharedByHandlersOfObject(t *testing.T) {
	cluster := newCluster(t)
	cluster.Run(func(reg *kopf.Registry) {
		kopf.OnEvent(reg, kexes, func(_ context.Context, e *event) error {
			kopf.MemoOf[tally](e.Memo).add("event " + string(e.UID))
			return nil
		}, kopf.ID("event"))
		kopf.OnCreate(reg, kexes, func(_ context.Context, c *change) error {
			kopf.MemoOf[tally](c.Memo).add("create " + string(c.UID))
			return nil
		}, kopf.ID("create"), kopf.When(func(_ context.Context, r *kopf.Request) bool {
			kopf.MemoOf[tally](r.Memo).add("filter " + string(r.UID))
			return true
		}))
		kopf.Daemon(reg, kexes, func(_ context.Context, d *run) error {
			kopf.MemoOf[tally](d.Memo).add("daemon " + string(d.UID))
			<-d.Stopping()
			return nil
		}, kopf.ID("daemon"))
		kopf.Timer(reg, kexes, func(_ context.Context, c *tick) error {
			seen := kopf.MemoOf[tally](c.Memo).add("timer " + string(c.UID))
			c.Patch.Set("status.seen", seen)
			return nil
		}, kopf.ID("timer"), kopf.Interval(5*time.Millisecond))
	})
	for range 2 { // the second time, it is another object
		x := cluster.Create(example("x"))
		uid, _ := x.Get().Get("metadata.uid").(string)
		var want []any
		for _, who := range []string{"create", "daemon", "event", "filter", "timer"} {
			want = append(want, who+" "+uid)
		}
		x.WaitFor("it is seen by all", func(o *kopf.Object) bool { return slices.Equal(fmtAll(o.Get("status.seen")), fmtAll(want)) })
		x.Delete()
		x.WaitGone()
	}
}

func fmtAll(values any) (out []string) {
	list, _ := values.([]any)
	for _, v := range list {
		out = append(out, fmt.Sprint(v))
	}
	return out
}

func TestMemo_LivesAsLongAsObject(t *testing.T) {
	cluster, c, watches := newCluster(t), &calls{}, &breaker{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.NewIndex(r, kexes, func(_ context.Context, p *indexed) (map[string]int, error) {
			kopf.MemoOf[tally](p.Memo).add(fmt.Sprint("indexed ", p.Object.Get("spec.field")))
			return nil, nil
		}, kopf.ID("index"))
		kopf.OnEvent(r, kexes, func(_ context.Context, e *event) error {
			at := fmt.Sprint(e.Object.Get("spec.field"))
			seen := kopf.MemoOf[tally](e.Memo).add("event " + at)
			c.add(fmt.Sprint(at, " ", len(seen)/2))
			if !slices.Contains(seen, "indexed "+at) {
				t.Errorf("%s: the indexing function has another memo: %v", at, seen)
			}
			return nil
		}, kopf.ID("event"))
	}, transport(watches.wrap))
	x := cluster.Create(withField("x", "created"))
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
	cluster.Create(withField("x", "anew"))
	c.wait(cluster, "anew 1", 1)
}

// clonedTally is a tally of which each object gets a copy.
type clonedTally struct{ tally }

// Clone returns a copy.
func (s *clonedTally) Clone() *clonedTally {
	clone := &clonedTally{}
	clone.seen = s.add("")
	return clone
}

func TestMemo_BeginsWithOperatorsMemo(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
			kopf.MemoOf[tally](a.Memo).add("shared")
			kopf.MemoOf[clonedTally](a.Memo).add("own")
			return nil
		}, kopf.ID("startup"))
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			kopf.MemoOf[tally](r.Memo).add(r.Name)
			c.add(fmt.Sprint(r.Name, " ", kopf.MemoOf[clonedTally](r.Memo).add(r.Name)))
			return nil
		}, kopf.ID("create"))
		kopf.OnCleanup(r, func(_ context.Context, a *kopf.Activity) error {
			c.add(fmt.Sprint(kopf.MemoOf[tally](a.Memo).add(""), kopf.MemoOf[clonedTally](a.Memo).add("")))
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
