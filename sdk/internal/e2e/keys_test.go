package e2e

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// keys are the idempotency keys of handlers, by the handler and the value of spec.field that it was called for.
type keys struct {
	mu    sync.Mutex
	given map[string][]kopf.StepKey
}

func (k *keys) add(name string, key kopf.StepKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.given == nil {
		k.given = map[string][]kopf.StepKey{}
	}
	k.given[name] = append(k.given[name], key)
}

// of returns the keys of calls whose names begin with a text, without repeated ones.
func (k *keys) of(start string) []kopf.StepKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []kopf.StepKey
	for name, given := range k.given {
		if strings.HasPrefix(name, start) {
			all = append(all, given...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// asks returns a handler that asks for a key. In each process, the first call for each value fails.
func (k *keys) asks(id string, failed *sync.Map) func(context.Context, *change) error {
	return func(_ context.Context, r *change) error {
		value := kopf.GetOr(r.Body, "spec.field", "")
		k.add(id+" "+value, kopf.KeyFor(r, "part"))
		if _, again := failed.LoadOrStore(id+value, true); !again {
			return kopf.Temporaryf(time.Millisecond, "the first attempt fails")
		}
		return nil
	}
}

// writesOf matches the requests that change objects of a resource, such as no Kubernetes events.
func writesOf(c custom) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return kopftest.Writes(r) && strings.Contains(r.URL.Path, "/"+c.plural+"/")
	}
}

func TestKeyFor_KilledAtAnyWriteKeepsTheKey(t *testing.T) {
	run := func(t *testing.T, name string, write int, after bool) (writes int) {
		cluster, k := newCluster(t), &keys{}
		faults := killAt(write, after)
		faults.Rules[0].Match = writesOf(plain)
		proxy := cluster.FaultProxy(faults)
		register := func(r *kopf.Registry) {
			var failed sync.Map
			kopf.OnCreate(r, plains, k.asks("create", &failed), kopf.ID("create"))
			kopf.OnUpdate(r, plains, k.asks("update", &failed), kopf.ID("update"))
		}
		end := runReplaced(cluster, register, proxy)
		x := cluster.Create(plain.of(example(name)))
		waitHandled(x)
		for _, value := range []string{"two", "three"} {
			x.Patch(field(value))
			waitHandled(x)
		}
		end()
		for _, one := range []string{"create value", "update two", "update three"} {
			if got := k.of(one); len(got) != 1 {
				t.Errorf("%s has the keys %q", one, got)
			}
		}
		if got := k.of(""); len(got) != 3 {
			t.Errorf("keys repeat: %q", got)
		}
		annotations, _ := x.Get().Get("metadata.annotations").(tree)
		if got := annotations["kopf.zalando.org/handler-steps.update"]; got != `{"handler":"update","epoch":2}` || annotations["kopf.zalando.org/handler-steps.create"] != nil {
			t.Errorf("recorded: %v", annotations)
		}
		return len(proxy.Injected())
	}
	writes := run(t, "undisturbed", 0, false)
	if want := 6; writes != want {
		t.Errorf("%d writes, want %d: a retry and an end for each of the handlings", writes, want)
	}
	for n := 1; n <= writes; n++ {
		for _, when := range []string{"before", "after"} {
			t.Run(fmt.Sprintf("%s write %d", when, n), func(t *testing.T) {
				run(t, fmt.Sprintf("killed-%s-%d", when, n), n, when == "after")
			})
		}
	}
}

func TestKeyFor_SubHandlersFieldsAndResuming(t *testing.T) {
	cluster, k := newCluster(t), &keys{}
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnResume(r, kexes, func(_ context.Context, c *change) error {
			k.add("resume", kopf.KeyFor(c, "part"))
			return nil
		}, kopf.ID("resume"))
		kopf.OnField(r, kexes, "spec.field", func(_ context.Context, c *kopf.FieldChange[string]) error {
			k.add("field "+c.New, kopf.KeyFor(c, "part"))
			for _, sub := range []string{"a", "b"} {
				c.Sub(sub, func(_ context.Context, s *kopf.FieldChange[string]) error {
					k.add("sub "+s.New, kopf.KeyFor(s, "part"))
					return nil
				})
			}
			return nil
		}, kopf.ID("on"))
	})
	x := cluster.Create(example("x"))
	waitHandled(x)
	x.Patch(field("two"))
	waitHandled(x)
	x.Patch(field("three"))
	waitHandled(x)
	for n := range 2 {
		op.Restart()
		cluster.WaitUntil("the object is resumed with another key", func() bool { return len(k.of("resume")) > n })
		waitHandled(x)
	}
	for start, want := range map[string]int{"field ": 3, "sub ": 6, "resume": 2, "": 11} {
		if got := k.of(start); len(got) != want {
			t.Errorf("%q: %d keys, want %d: %q", start, len(got), want, got)
		}
	}
}
