package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
)

// storm is a reconciler with a parent and a child, in a bubble of synctest.
type storm struct {
	t      *testing.T
	queue  *queue.Queue
	family *family
	parent *object.Object

	mu      sync.Mutex
	version int
	essence uint64
	takes   time.Duration // duration of a pass
	passes  []stormPass
	aborts  int // number of passes to abort
}

// stormPass is a pass with the state of the child at its end.
type stormPass struct {
	at   time.Time
	seen string
}

func newStorm(t *testing.T) *storm {
	deployments := resources.Resource{Group: "apps", Version: "v1", Plural: "deployments", Kind: "Deployment", Namespaced: true, Preferred: true, Subresources: []string{"status"}}
	parents := &resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "shops", Kind: "Shop", Namespaced: true, Preferred: true}
	s := &storm{t: t}
	r := NewReconciler(&core.Deps{Now: time.Now, Logger: slog.New(slog.DiscardHandler), Settings: &core.Settings{}})
	s.family = newFamily(r, parents, &handlers.Handler{Owns: []handlers.Owned{{
		Selector: resources.Selector{Group: "apps", Version: "v1", Plural: "deployments"}, Observe: []object.Path{{"status", "address"}, {"status", "count"}},
	}}})
	s.family.resolve([]resources.Resource{deployments})
	r.families[parents.Key()] = s.family
	r.streams[streamKey{parents: parents.Key()}] = &stream{source: s.family.kinds[0], listed: true}
	s.queue = queue.New(t.Context(), queue.Options{Process: func(ctx context.Context, b *queue.Batch) *queue.Next {
		s.mu.Lock()
		essence, takes := s.essence, s.takes
		s.mu.Unlock()
		beginning := &core.Beginning{Key: b.Key, Object: b.Newest.Object, Subject: &observe.Subject{Logger: r.deps.Logger}, Essence: essence}
		due := r.Due(ctx, beginning)
		p := r.begin(ctx, beginning)
		if due != (p != nil) {
			s.t.Errorf("a pass was said to be due: %t; it began: %t", due, p != nil)
		}
		if p == nil {
			return nil
		}
		began := time.Now()
		time.Sleep(takes)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.aborts > 0 {
			s.aborts--
			p.Abort()
			return &queue.Next{After: time.Second}
		}
		seen := "no child"
		for _, c := range p.Children(s.family.kinds[0].owned.Selector) {
			observed, err := c.Observed()
			if err != nil {
				t.Error(err)
			}
			seen = fmt.Sprintf("%s, %s %v", c.State, c.Message(), slices.DeleteFunc([]any{observed}, func(any) bool { return len(observed) == 0 }))
		}
		s.passes = append(s.passes, stormPass{began, seen})
		p.End(handlers.Outcome{Final: true})
		return nil
	}})
	r.deps.Queue = s.queue
	s.parent = s.parse(`{"apiVersion":"kopf.dev/v1","kind":"Shop","metadata":{"name":"shop","namespace":"ns","uid":"parent","resourceVersion":"1"}}`)
	s.queue.Put(parents.Key(), watch.Event{Type: watch.Added, Object: s.parent})
	synctest.Wait()
	s.child(0, "")
	s.rest()
	return s
}

func (s *storm) parse(text string) *object.Object {
	o, err := object.Parse([]byte(text), object.ParseOptions{KeepManagedFields: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

// set changes the behaviour of the next cycles.
func (s *storm) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// child delivers an event of the child, of whose 50 replicas some are ready, with other fields of the status.
func (s *storm) child(ready int, more string) {
	s.version++
	text := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"shop","namespace":"ns","uid":"child","generation":1,"resourceVersion":"%d",`+
		`"labels":{%q:"parent"}},"spec":{"replicas":50},"status":{"observedGeneration":1,"replicas":50,"updatedReplicas":50,"readyReplicas":%d,"availableReplicas":%[3]d,`+
		`"conditions":[{"type":"Available","status":"True"}]%s}}`,
		100+s.version, ownerUIDLabel, ready, more)
	s.family.kinds[0].observe(s.t.Context(), watch.Event{Type: watch.Modified, Object: s.parse(text)}, false)
}

// rest waits until the budget is full again, and forgets the passes so far.
func (s *storm) rest() {
	time.Sleep(time.Hour)
	synctest.Wait()
	s.passes = nil
}

// times returns the times of the passes after some moment.
func (s *storm) times(since time.Time) (all []time.Duration) {
	time.Sleep(time.Minute)
	synctest.Wait()
	for _, p := range s.passes {
		all = append(all, p.at.Sub(since))
	}
	return all
}

func TestStorm(t *testing.T) {
	const last = "progressing, 40 of 50 replicas are ready []"
	ms := func(all ...int) (times []time.Duration) {
		for _, one := range all {
			times = append(times, time.Duration(one)*time.Millisecond)
		}
		return times
	}
	rollout := func(s *storm) {
		for i := range 40 {
			time.Sleep(250 * time.Millisecond)
			s.child(i+1, "")
		}
	}
	for name, tt := range map[string]struct {
		takes time.Duration
		run   func(*storm)
		want  []time.Duration
		seen  string
	}{
		"a rollout":                  {0, rollout, ms(250, 500, 3250, 6250, 9250, 12_250), last},
		"a rollout with slow passes": {2 * time.Second, rollout, ms(250, 2250, 4250, 6250, 9250, 12_250), last},
		"a new state wakes at once": {0, func(s *storm) {
			rollout(s)
			s.child(50, "")
		}, ms(250, 500, 3250, 6250, 9250, 10_000), "ready, 50 of 50 replicas are ready []"},
		"states are never delayed": {0, func(s *storm) {
			for range 5 {
				s.child(50, "")
				time.Sleep(100 * time.Millisecond)
				s.child(1, "")
				time.Sleep(100 * time.Millisecond)
			}
		}, ms(0, 100, 200, 300, 400, 500, 600, 700, 800, 900), "progressing, 1 of 50 replicas are ready []"},
		"observed texts are never delayed": {0, func(s *storm) {
			for i := range 4 {
				s.child(1, fmt.Sprintf(`,"address":"10.0.0.%d"`, i))
				time.Sleep(100 * time.Millisecond)
			}
		}, ms(0, 100, 200, 300), `progressing, 1 of 50 replicas are ready [map[status:map[address:10.0.0.3]]]`},
		"observed numbers are progress, after the first one": {0, func(s *storm) {
			s.child(1, "")
			time.Sleep(100 * time.Millisecond)
			s.child(2, "")
			time.Sleep(100 * time.Millisecond)
			for i := range 4 {
				s.child(2, fmt.Sprintf(`,"count":%d`, i))
				time.Sleep(100 * time.Millisecond)
			}
		}, ms(0, 100, 200, 3200), `progressing, 2 of 50 replicas are ready [map[status:map[count:3]]]`},
		"the parent itself is never delayed, and folds": {0, func(s *storm) {
			for i := range 3 {
				s.child(i+1, "")
				time.Sleep(100 * time.Millisecond)
			}
			s.set(func() { s.essence++ })
			s.queue.Put(s.family.resource.Key(), watch.Event{Type: watch.Modified, Object: s.parent})
		}, ms(0, 100, 300), "progressing, 3 of 50 replicas are ready []"},
		"other cycles of the parent begin no pass": {0, func(s *storm) {
			for i := range 3 {
				s.child(i+1, "")
				time.Sleep(100 * time.Millisecond)
			}
			s.queue.Put(s.family.resource.Key(), watch.Event{Type: watch.Modified, Object: s.parent})
		}, ms(0, 100, 3000), "progressing, 3 of 50 replicas are ready []"},
		"an aborted pass loses nothing": {0, func(s *storm) {
			for i := range 3 {
				if i == 2 {
					s.set(func() { s.aborts = 2 })
				}
				s.child(i+1, "")
				time.Sleep(100 * time.Millisecond)
			}
		}, ms(0, 100, 5000), "progressing, 3 of 50 replicas are ready []"},
		"an aborted pass spends nothing": {0, func(s *storm) {
			s.set(func() { s.aborts = 1 })
			s.child(1, "")
			time.Sleep(1050 * time.Millisecond)
			s.child(2, "")
		}, ms(1000, 1050), "progressing, 2 of 50 replicas are ready []"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStorm(t)
				s.set(func() { s.takes = tt.takes })
				start := time.Now()
				tt.run(s)
				if got := s.times(start); !slices.Equal(got, tt.want) {
					t.Errorf("passes at %v, want %v", got, tt.want)
				}
				if n := len(s.passes); n == 0 || s.passes[n-1].seen != tt.seen {
					t.Errorf("the passes have seen %v", s.passes)
				}
				s.family.dissolve()
				if err := s.queue.Stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
