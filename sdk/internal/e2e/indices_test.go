package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// byField is an index of the names of objects by a field of theirs, and a way into it from
// outside of the operator.
type byField struct {
	index *kopf.Index[string, string]
	ctx   atomic.Pointer[context.Context]
	calls calls
}

type indexed = kopf.IndexRequest[kopf.Object]

func (b *byField) register(r *kopf.Registry, resource kopf.Selector, options ...kopf.IndexOption) {
	b.index = kopf.NewIndex(r, resource, b.values, append(options, kopf.ID("by-field"))...)
}

// values does what the field says; a plain value is the key.
func (b *byField) values(ctx context.Context, p *indexed) (map[string]string, error) {
	b.ctx.Store(&ctx)
	field := kopf.GetOr(p.Object, "spec.field", "")
	b.calls.add(fmt.Sprintf("%s %s %d", p.Name, field, p.Retry))
	switch field {
	case "keep":
		return nil, nil
	case "nowhere":
		return map[string]string{}, nil
	case "arbitrary":
		return nil, errors.New("oops")
	case "soon":
		return nil, kopf.Temporaryf(10*time.Millisecond, "not now")
	case "later":
		return nil, kopf.Temporaryf(time.Hour, "not now")
	case "never":
		return nil, kopf.Permanentf("never")
	}
	return map[string]string{field: p.Name}, nil
}

func (b *byField) content() map[string][]string {
	ctx := b.ctx.Load()
	if ctx == nil {
		return nil
	}
	all := map[string][]string{}
	for key, name := range b.index.All(*ctx) {
		all[key] = append(all[key], name)
	}
	for _, names := range all {
		slices.Sort(names)
	}
	return all
}

// becomes waits until the index is as wanted: "key: name name; key: name".
func (b *byField) becomes(t *testing.T, want string) {
	t.Helper()
	shown := func() any {
		all := b.content()
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(all)) {
			keys = append(keys, key+": "+strings.Join(all[key], " "))
		}
		return strings.Join(keys, "; ")
	}
	eventually(t, fmt.Sprintf("the index is %q", want), func() bool { return shown() == want }, shown)
}

func fielded(name, value string) tree {
	return tree{"metadata": tree{"name": name, "labels": tree{"indexed": "yes"}}, "spec": tree{"field": value}}
}

func field(value string) tree { return tree{"spec": tree{"field": value}} }

// slowly delays the requests for a resource.
func slowly(plural string) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/"+plural) {
				time.Sleep(300 * time.Millisecond)
			}
			return base.RoundTrip(r)
		})
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestIndicesAreCompleteBeforeTheFirstHandlerOfAnyObject(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	const objects = 20
	for i := range objects {
		w.create(fielded(fmt.Sprint("kex-", i), "x"))
	}
	w.res = plain
	for i := range objects {
		w.create(fielded(fmt.Sprint("plain-", i), fmt.Sprint("key-", i)))
	}
	sees := func(ctx context.Context, what string) error {
		c.add(fmt.Sprintf("%s sees %d", what, b.index.Len(ctx)))
		return nil
	}
	w.run(func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnEvent(r, kexes, func(ctx context.Context, _ *kopf.Event[kopf.Object]) error { return sees(ctx, "event") }, kopf.ID("event"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error { return sees(ctx, "create") }, kopf.ID("create"))
		kopf.OnCreate(r, plains, func(ctx context.Context, _ *change) error { return sees(ctx, "create") }, kopf.ID("create"))
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *kopf.DaemonRun[kopf.Object]) error { return sees(ctx, "daemon") }, kopf.ID("daemon"))
	}, setup{wrap: slowly("kopfplains")})
	complete := fmt.Sprint(" sees ", objects)
	c.wait(t, "create"+complete, 2*objects)
	c.wait(t, "event"+complete, objects)
	c.wait(t, "daemon"+complete, objects)
	for _, call := range c.all() {
		if !strings.HasSuffix(call, complete) {
			t.Error(call)
		}
	}
}

func TestAnIndexFollowsItsObjects(t *testing.T) {
	w, b := newWorld(t), &byField{}
	w.create(fielded("a", "x"))
	w.create(fielded("b", "x"))
	w.run(func(r *kopf.Registry) { b.register(r, kexes, kopf.Labels{"indexed": "yes"}) })
	b.becomes(t, "x: a b")
	w.create(fielded("c", "y"))
	b.becomes(t, "x: a b; y: c")
	w.patch("b", field("y"))
	b.becomes(t, "x: a; y: b c")
	w.patch("a", field("nowhere"))
	b.becomes(t, "y: b c")
	w.patch("a", field("z"))
	b.becomes(t, "y: b c; z: a")
	w.patch("a", field("keep"))
	w.delete("c")
	b.becomes(t, "y: b; z: a")
	w.patch("b", tree{"metadata": tree{"labels": tree{"indexed": "no"}}})
	b.becomes(t, "z: a")
	w.patch("b", tree{"metadata": tree{"labels": tree{"indexed": "yes"}}})
	b.becomes(t, "y: b; z: a")
	w.delete("a")
	w.delete("b")
	b.becomes(t, "")
}

func TestAnObjectIsIndexedBeforeItsOwnHandlersAreCalled(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	w.run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnEvent(r, kexes, func(ctx context.Context, e *kopf.Event[kopf.Object]) error {
			c.add(fmt.Sprintf("%s %s %v", e.Type, e.Object.Get("spec.field"), b.index.Get(ctx, "x")))
			return nil
		}, kopf.ID("event"))
	})
	w.create(fielded("a", "x"))
	c.wait(t, "ADDED x [a]", 1)
	w.patch("a", field("y"))
	c.wait(t, "MODIFIED y []", 1)
	w.patch("a", field("x"))
	c.wait(t, "MODIFIED x [a]", 1)
	w.delete("a")
	c.wait(t, "DELETED x []", 1)
}

func TestErrorsOfIndexing(t *testing.T) {
	tests := map[string]struct {
		options  []kopf.IndexOption
		failing  string // the field
		during   string // the index after the failure
		after    string // when the field is good again
		excluded bool   // the function is not called then
	}{
		"arbitrary ones are ignored by default":  {nil, "arbitrary", "x: a; x2: b", "x2: b; y: a", false},
		"arbitrary ones may be permanent":        {[]kopf.IndexOption{kopf.ErrorsPermanent}, "arbitrary", "x2: b", "x2: b", true},
		"permanent ones exclude for good":        {nil, "never", "x2: b", "x2: b", true},
		"temporary ones exclude for the delay":   {nil, "later", "x2: b", "x2: b", true},
		"the last of the retries is for good":    {[]kopf.IndexOption{kopf.Retries(1)}, "soon", "x2: b", "x2: b", true},
		"arbitrary ones may exclude for no time": {[]kopf.IndexOption{kopf.ErrorsTemporary, kopf.Backoff(0)}, "arbitrary", "x2: b", "x2: b; y: a", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w, b := newWorld(t), &byField{}
			w.create(fielded("a", "x"))
			w.create(fielded("b", "x2"))
			w.run(func(r *kopf.Registry) { b.register(r, kexes, tt.options...) })
			b.becomes(t, "x: a; x2: b")
			w.patch("a", field(tt.failing))
			b.calls.wait(t, "a "+tt.failing+" 0", 1)
			b.becomes(t, tt.during)
			w.patch("a", field("y"))
			w.create(fielded("last", "z"))
			b.becomes(t, strings.TrimSuffix(tt.after, "; ")+"; z: last")
			called := slices.ContainsFunc(b.calls.all(), func(call string) bool { return strings.HasPrefix(call, "a y ") })
			if called == tt.excluded {
				t.Errorf("calls: %v", b.calls.all())
			}
		})
	}
}

func TestIndexingIsTriedAgainWhenTheDelayIsOver(t *testing.T) {
	w, b := newWorld(t), &byField{}
	var mended atomic.Bool
	w.run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(ctx context.Context, p *indexed) (map[string]string, error) {
			b.ctx.Store(&ctx)
			b.calls.add(fmt.Sprintf("%s %d", p.Name, p.Retry))
			if p.Name == "b" && !mended.Load() {
				return nil, kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
	})
	w.create(fielded("a", "x"))
	w.create(fielded("b", "x"))
	b.calls.wait(t, "b 3", 1)
	b.becomes(t, "x: a")
	mended.Store(true)
	b.becomes(t, "x: a b")
	if n := b.calls.count("a 0"); n != 1 {
		t.Errorf("the other object was indexed %d times", n)
	}
}

func TestARestartedOperatorIndexesAnew(t *testing.T) {
	w, b := newWorld(t), &byField{}
	w.create(fielded("a", "x"))
	op := w.run(func(r *kopf.Registry) { b.register(r, kexes) })
	b.becomes(t, "x: a")
	op.stop()
	w.delete("a")
	w.create(fielded("b", "y"))
	again := &byField{}
	w.run(func(r *kopf.Registry) { again.register(r, kexes) })
	again.becomes(t, "y: b")
	b.becomes(t, "x: a") // those who still hold a context of the former operator see its last state
}

func TestAPauseIsCaughtUpWith(t *testing.T) {
	w, b := newWorld(t), &byField{}
	w.create(fielded("a", "x"))
	w.create(fielded("b", "x"))
	address := "unix:" + filepath.Join(t.TempDir(), "i")
	op := w.run(func(r *kopf.Registry) { b.register(r, kexes) },
		setup{settings: func(s *kopf.Settings) { s.Process.Inspector = address }})
	b.becomes(t, "x: a b")
	w.intend(address, inspect.IntentPause)
	op.journal.wait(t, "Stopping the watch-stream for kopfexamples", 1)
	w.delete("a")
	w.create(fielded("c", "y"))
	w.intend(address, inspect.IntentResume)
	b.becomes(t, "x: b; y: c")
}

func TestOperatorsHaveIndicesOfTheirOwnBehindOneHandle(t *testing.T) {
	w := newWorld(t)
	other := w.ns + "-other"
	w.makeNamespace(other)
	w.create(fielded("here", "x"))
	w.createIn(other, fielded("there", "x"))
	first, second := &byField{}, &byField{}
	w.run(func(r *kopf.Registry) { first.register(r, kexes) })
	w.run(func(r *kopf.Registry) { second.register(r, kexes) }, setup{namespaces: []string{other}})
	second.index = first.index
	first.becomes(t, "x: here")
	second.becomes(t, "x: there")
}

func TestANamespaceThatAppearsLaterIsIndexedBeforeItsObjectsAreHandled(t *testing.T) {
	w, b, c, hold := newWorld(t), &byField{}, &calls{}, &barrier{plural: "kopfplains"}
	late := w.ns + "-late"
	op := w.run(func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add(fmt.Sprintf("%s sees %d", r.Name, b.index.Len(ctx)))
			return nil
		}, kopf.ID("create"))
	}, setup{namespaces: []string{w.ns + "*"}, wrap: hold.wrap})
	hold.Lock()
	w.makeNamespace(late)
	w.createIn(late, fielded("a", "x"))
	op.journal.wait(t, "Starting the watch-stream for kopfplains.v1.kopf.dev in "+late, 1)
	w.res = plain
	w.createIn(late, fielded("b", "x"))
	w.res = kex
	c.are(t)
	hold.Unlock()
	c.wait(t, "a sees 1", 1)
	c.are(t, "a sees 1")
}

func TestActivitiesSeeWhatThereIsInAnIndex(t *testing.T) {
	w, b, c := newWorld(t), &byField{}, &calls{}
	w.create(fielded("a", "x"))
	sees := func(what string) func(context.Context, *kopf.Activity) error {
		return func(ctx context.Context, _ *kopf.Activity) error {
			c.add(fmt.Sprintf("%s sees %d", what, b.index.Len(ctx)))
			return nil
		}
	}
	op := w.run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnStartup(r, sees("startup"), kopf.ID("startup"))
		kopf.OnCleanup(r, sees("cleanup"), kopf.ID("cleanup"))
	})
	b.becomes(t, "x: a")
	op.stop()
	c.are(t, "startup sees 0", "cleanup sees 1")
}
