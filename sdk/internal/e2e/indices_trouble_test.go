package e2e

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// barrier holds back the requests for a resource while it is locked.
type barrier struct {
	sync.RWMutex
	plural string
}

func (b *barrier) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if strings.HasSuffix(req.URL.Path, "/"+b.plural) {
			b.RLock()
			defer b.RUnlock()
		}
		return next.RoundTrip(req)
	})
}

func TestAnIndexIsRightAfterItsStreamWasBroken(t *testing.T) {
	for reason, words := range map[string]string{"dropped": "", "expired": expired} {
		t.Run(reason, func(t *testing.T) {
			w, b, watches, hold := newWorld(t), &byField{}, &breaker{}, &barrier{plural: "kopfexamples"}
			for _, name := range []string{"deleted", "changed", "remade", "unchanged"} {
				w.create(fielded(name, "x"))
			}
			op := w.run(func(r *kopf.Registry) { b.register(r, kexes) },
				setup{wrap: func(next http.RoundTripper) http.RoundTripper { return watches.wrap(hold.wrap(next)) }})
			b.becomes(t, "x: changed deleted remade unchanged")
			lists := watches.lists.Load()
			hold.Lock()
			watches.end(words)
			op.journal.wait(t, "reason="+reason, 1)
			w.delete("deleted")
			w.delete("remade")
			w.create(fielded("remade", "y"))
			w.create(fielded("new", "y"))
			w.patch("changed", field("z"))
			hold.Unlock()
			b.becomes(t, "x: unchanged; y: new remade; z: changed")
			if words == expired && watches.lists.Load() == lists {
				t.Error("it was not listed again: that is no test")
			}
		})
	}
}

func TestAnIndexOfAResourceThatComesAndGoes(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	late := *kex
	late.Group = w.ns + ".kopf.dev"
	op := w.run(func(r *kopf.Registry) {
		b.register(r, kopf.Resource(late.Group+"/v1", "kopfexamples"))
		kopf.OnCreate(r, plains, func(ctx context.Context, r *change) error {
			b.ctx.Store(&ctx)
			c.add(fmt.Sprintf("%s sees %d", r.Name, b.index.Len(ctx)))
			return nil
		}, kopf.ID("create"))
	})
	w.res = plain
	w.create(example("before"))
	c.wait(t, "before sees 0", 1) // an index of nothing is complete
	w.res = &late
	for i, name := range []string{"first", "second"} {
		w.define(&late, anything)
		w.served(&late)
		w.create(fielded(name, "x"))
		b.becomes(t, "x: "+name)
		if err := testcluster.Delete(t.Context(), w.client, definitionResource, "", late.Plural+"."+late.Group); err != nil {
			t.Fatal(err)
		}
		op.journal.wait(t, "Stopping the watch-stream for "+late.Key(), i+1)
		b.becomes(t, "")
		testcluster.Eventually(t, "the definition is gone", func() error {
			_, err := w.client.WithoutRetries().Get(t.Context(), definitionResource, "", late.Plural+"."+late.Group)
			if err == nil {
				return fmt.Errorf("it is there")
			}
			return nil
		})
	}
}

// categorize redefines a resource to be of some categories, and no others.
func (w *world) categorize(res *resources.Resource, categories ...any) {
	w.t.Helper()
	body := encode(w.t, tree{"spec": tree{"names": tree{"categories": categories}}})
	if _, err := w.client.Patch(w.t.Context(), definitionResource, "", res.Plural+"."+res.Group, "", patch.MergeType, body); err != nil {
		w.t.Fatal(err)
	}
}

func TestAResourceThatIsRedefinedIsIndexedAsItIsNow(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	own := w.ownResource()
	w.create(fielded("a", "x"))
	w.create(fielded("b", "x"))
	w.run(func(r *kopf.Registry) {
		b.register(r, kopf.Selector{Category: w.ns})
		kopf.OnResume(r, kopf.Resource(own.Group+"/v1", "kopfexamples"), func(ctx context.Context, r *change) error {
			b.ctx.Store(&ctx)
			c.add("resumed " + r.Name)
			return nil
		}, kopf.ID("resume"))
		kopf.OnEvent(r, kopf.Resource(own.Group+"/v1", "kopfexamples"), func(_ context.Context, e *kopf.Event[kopf.Object]) error {
			c.add(fmt.Sprint(e.Type, " ", e.Name))
			return nil
		}, kopf.ID("event"))
	})
	w.untilHandled("a")
	w.untilHandled("b")
	b.becomes(t, "")
	redefine := func(categories ...any) {
		t.Helper()
		w.categorize(own, categories...)
	}
	redefine(w.ns)
	b.becomes(t, "x: a b")
	w.patch("a", field("y"))
	b.becomes(t, "x: b; y: a")
	redefine()
	b.becomes(t, "")
	w.patch("b", field("y"))
	c.wait(t, "MODIFIED b", 1)
	redefine(w.ns)
	b.becomes(t, "y: a b")
	if c.count("resumed a") > 1 || c.count("resumed b") > 1 {
		t.Errorf("what has been there all the time is resumed: %q", c.all())
	}
}

func TestMoreIsDoneForObjectsOfARedefinedResourceThatWereOnlyIndexed(t *testing.T) {
	for name, oneMore := range map[string]bool{"one more index": true, "the same index": false} {
		t.Run(name, func(t *testing.T) {
			w, b, c, hold := newWorld(t), &byField{}, &calls{}, &barrier{plural: "kopfexamples"}
			own := w.ownResource()
			w.create(fielded("a", "x"))
			var late *kopf.Index[string, string]
			op := w.run(func(r *kopf.Registry) {
				b.index = kopf.NewIndex(r, kopf.Resource(own.Group+"/v1", "kopfexamples"), func(ctx context.Context, p *indexed) (map[string]string, error) {
					kopf.MemoOf[tally](p.Memo).add(kopf.GetOr(p.Object, "spec.field", ""))
					return b.values(ctx, p)
				}, kopf.ID("by-name"))
				if oneMore {
					late = kopf.NewIndex(r, kopf.Selector{Category: w.ns}, b.values, kopf.ID("by-category"))
				}
				kopf.OnEvent(r, kopf.Selector{Category: w.ns}, func(ctx context.Context, e *kopf.Event[kopf.Object]) error {
					c.add(fmt.Sprint(e.Name, " ", kopf.MemoOf[tally](e.Memo).add("event")))
					if oneMore && len(late.Get(ctx, kopf.GetOr(e.Object, "spec.field", ""))) != 1 {
						t.Errorf("%s is not in the new index", e.Name)
					}
					return nil
				}, kopf.ID("event"))
			}, setup{wrap: hold.wrap})
			b.becomes(t, "x: a")
			hold.Lock()
			w.categorize(own, w.ns)
			op.journal.wait(t, "Starting the watch-stream for "+own.Key(), 2)
			b.becomes(t, "x: a") // already before it is listed again
			w.patch("a", field("y"))
			hold.Unlock()
			c.wait(t, "a [event x y]", 1)
			w.create(fielded("b", "z"))
			c.wait(t, "b [event z]", 1)
		})
	}
}

func TestAnObjectThatIsMadeAnewIsIndexedThoughTheFormerOneWasExcluded(t *testing.T) {
	w, b := newWorld(t), &byField{}
	w.run(func(r *kopf.Registry) { b.register(r, kexes) })
	w.create(fielded("a", "never"))
	b.calls.wait(t, "a never 0", 1)
	w.patch("a", field("x"))
	w.create(fielded("b", "y"))
	b.becomes(t, "y: b")
	w.delete("a")
	w.create(fielded("a", "x"))
	b.becomes(t, "x: a; y: b")
}

func TestOneIndexIsFilledFromSeveralResources(t *testing.T) {
	w, b := newWorld(t), &byField{}
	w.create(fielded("same", "x"))
	w.run(func(r *kopf.Registry) {
		b.register(r, kexes)
		b.register(r, plains)
	})
	b.becomes(t, "x: same")
	w.res = plain
	w.create(fielded("same", "x"))
	b.becomes(t, "x: same same")
	w.delete("same")
	b.becomes(t, "x: same")
}

func TestObjectsThatAreOnlyIndexedAreNotTouched(t *testing.T) {
	w, b := newWorld(t), &byField{}
	op := w.run(func(r *kopf.Registry) { b.register(r, kexes) })
	w.create(fielded("a", "x"))
	b.becomes(t, "x: a")
	w.patch("a", field("y"))
	b.becomes(t, "y: a")
	w.delete("a")
	w.untilGone("a") // there is no finalizer
	b.becomes(t, "")
	if patches := op.journal.patches(); len(patches) > 0 {
		t.Errorf("patched: %v", patches)
	}
}

func TestHandlersWaitUntilWhatIsIndexedMayBeListed(t *testing.T) {
	w, c := newWorld(t), &calls{}
	config := w.restricted()
	var maps *kopf.Index[string, bool]
	op := w.run(func(r *kopf.Registry) {
		maps = kopf.NewIndex(r, kopf.Resource("v1", "configmaps"), func(_ context.Context, p *indexed) (map[string]bool, error) {
			return map[string]bool{p.Name: true}, nil
		}, kopf.ID("maps"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add(fmt.Sprint(r.Name, " ", maps.Get(ctx, "a")))
			return nil
		}, kopf.ID("create"))
	}, setup{config: config, unready: true})
	w.create(example("x"))
	w.res = &resources.Resource{Version: "v1", Plural: "configmaps", Kind: "ConfigMap", Namespaced: true}
	w.create(tree{"metadata": tree{"name": "a"}})
	w.res = kex
	op.journal.wait(t, "All handlers wait for it, since its objects are to be indexed.", 2)
	c.are(t)
	testcluster.Create(t, w.client, roles("roles", "Role", true), w.ns, tree{
		"metadata": tree{"name": "maps"},
		"rules":    []any{tree{"apiGroups": []any{""}, "resources": []any{"configmaps"}, "verbs": []any{"list", "watch"}}},
	})
	testcluster.Create(t, w.client, roles("rolebindings", "RoleBinding", true), w.ns, tree{
		"metadata": tree{"name": "maps"},
		"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
		"subjects": []any{tree{"kind": "ServiceAccount", "name": "operator", "namespace": w.ns}},
	})
	c.wait(t, "x [true]", 1)
	c.are(t, "x [true]")
}

func TestAnIndexingFunctionThatDoesNotEndHoldsUpNobodyAfterAPause(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	var stuck atomic.Bool
	release := make(chan struct{})
	defer close(release)
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	op := w.run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(ctx context.Context, p *indexed) (map[string]string, error) {
			b.ctx.Store(&ctx)
			if p.Name == "b" && !stuck.Swap(true) {
				<-release // whatever becomes of the context
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
		kopf.OnCreate(r, plains, c.does("create"), kopf.ID("create"))
	}, setup{settings: func(s *kopf.Settings) {
		s.Process.Inspector = address
		s.Queueing.ExitTimeout = 10 * time.Millisecond
	}})
	w.create(fielded("a", "x"))
	b.becomes(t, "x: a")
	w.create(fielded("b", "x"))
	eventually(t, "the function is stuck", stuck.Load, func() any { return stuck.Load() })
	w.intend(address, inspect.IntentPause)
	op.journal.wait(t, "An indexing function ignores that the watch-stream for kopfexamples", 1)
	w.delete("a")
	w.create(fielded("c", "x"))
	w.intend(address, inspect.IntentResume)
	b.becomes(t, "x: b c")
	w.res = plain
	w.create(example("x"))
	c.wait(t, "create", 1)
}

// intend tells an operator something through its inspector.
func (w *world) intend(address string, kind inspect.IntentKind) {
	w.t.Helper()
	client, err := inspect.Dial(address)
	if err == nil {
		err = client.Do(w.t.Context(), inspect.Intent{Kind: kind})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
