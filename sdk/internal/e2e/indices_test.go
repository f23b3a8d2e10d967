package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// byField is an index of the names of objects by the field spec.field, which the test can read while
// the operator runs.
type byField struct {
	index *kopf.Index[string, string]
	ctx   atomic.Pointer[context.Context]
	calls calls
}

func (b *byField) register(r *kopf.Registry, resource kopf.Selector, options ...kopf.IndexOption) {
	b.index = kopf.NewIndex(r, resource, b.values, append(options, kopf.ID("by-field"))...)
}

// values returns the result that the field selects. Other values are keys of the index.
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

// waitContent waits for the content of the index, such as "key: name name; key: name".
func (b *byField) waitContent(cluster *kopftest.Cluster, want string) {
	cluster.T().Helper()
	shown := func() string {
		all := b.content()
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(all)) {
			keys = append(keys, key+": "+strings.Join(all[key], " "))
		}
		return strings.Join(keys, "; ")
	}
	cluster.WaitUntil(fmt.Sprintf("the index is %q", want), func() bool { return shown() == want })
}

func withField(name, value string) tree {
	return kex.of(tree{"metadata": tree{"name": name, "labels": tree{"indexed": "yes"}}, "spec": tree{"field": value}})
}

func field(value string) tree { return tree{"spec": tree{"field": value}} }

func TestIndex_CompleteBeforeFirstHandler(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	const objects = 20
	for i := range objects {
		cluster.Create(withField(fmt.Sprint("kex-", i), "x"))
	}
	for i := range objects {
		cluster.Create(plain.of(withField(fmt.Sprint("plain-", i), fmt.Sprint("key-", i))))
	}
	sees := func(ctx context.Context, what string) error {
		c.add(fmt.Sprintf("%s sees %d", what, b.index.Len(ctx)))
		return nil
	}
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, plains)
		kopf.OnEvent(r, kexes, func(ctx context.Context, _ *event) error { return sees(ctx, "event") }, kopf.ID("event"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, _ *change) error { return sees(ctx, "create") }, kopf.ID("create"))
		kopf.OnCreate(r, plains, func(ctx context.Context, _ *change) error { return sees(ctx, "create") }, kopf.ID("create"))
		kopf.Daemon(r, kexes, func(ctx context.Context, _ *run) error { return sees(ctx, "daemon") }, kopf.ID("daemon"))
	}, transport(slowly("kopfplains")), withoutInspector)
	complete := fmt.Sprint(" sees ", objects)
	c.wait(cluster, "create"+complete, 2*objects)
	c.wait(cluster, "event"+complete, objects)
	c.wait(cluster, "daemon"+complete, objects)
	for _, call := range c.all() {
		if !strings.HasSuffix(call, complete) {
			t.Error(call)
		}
	}
}

func TestIndex_FollowsObjects(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	a := cluster.Create(withField("a", "x"))
	second := cluster.Create(withField("b", "x"))
	cluster.Run(func(r *kopf.Registry) { b.register(r, kexes, kopf.Labels{"indexed": "yes"}) }, withoutInspector)
	b.waitContent(cluster, "x: a b")
	c := cluster.Create(withField("c", "y"))
	b.waitContent(cluster, "x: a b; y: c")
	second.Patch(field("y"))
	b.waitContent(cluster, "x: a; y: b c")
	a.Patch(field("nowhere"))
	b.waitContent(cluster, "y: b c")
	a.Patch(field("z"))
	b.waitContent(cluster, "y: b c; z: a")
	a.Patch(field("keep"))
	c.Delete()
	b.waitContent(cluster, "y: b; z: a")
	second.Patch(tree{"metadata": tree{"labels": tree{"indexed": "no"}}})
	b.waitContent(cluster, "z: a")
	second.Patch(tree{"metadata": tree{"labels": tree{"indexed": "yes"}}})
	b.waitContent(cluster, "y: b; z: a")
	a.Delete()
	second.Delete()
	b.waitContent(cluster, "")
}

func TestIndex_ObjectIsIndexedBeforeItsHandlers(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnEvent(r, kexes, func(ctx context.Context, e *event) error {
			c.add(fmt.Sprintf("%s %s %v", e.Type, e.Object.Get("spec.field"), b.index.Get(ctx, "x")))
			return nil
		}, kopf.ID("event"))
	}, withoutInspector)
	a := cluster.Create(withField("a", "x"))
	c.wait(cluster, "ADDED x [a]", 1)
	a.Patch(field("y"))
	c.wait(cluster, "MODIFIED y []", 1)
	a.Patch(field("x"))
	c.wait(cluster, "MODIFIED x [a]", 1)
	a.Delete()
	c.wait(cluster, "DELETED x []", 1)
}

// The stream never brings the versions that the operator makes.
func TestIndex_AnswerIsIndexedBeforeItsHandlers(t *testing.T) {
	cluster, b, c := newCluster(t), &byField{}, &calls{}
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			r.Patch.Set("spec.field", "y")
			return nil
		}, kopf.ID("create_1"))
		kopf.OnCreate(r, kexes, func(ctx context.Context, r *change) error {
			c.add(fmt.Sprintf("%s %v %v", r.Object.Get("spec.field"), b.index.Get(ctx, "y"), b.index.Get(ctx, "x")))
			return nil
		}, kopf.ID("create_2"))
	}, withoutInspector, transport(heldBack(func(line string) bool { return strings.Contains(line, `\"purpose\":`) })))
	waitHandled(cluster.Create(withField("a", "x")))
	c.are(t, "y [a] []")
}

// The version that the first request made would otherwise be indexed once the second one is accepted.
func TestIndex_AnswerIsIndexedThoughTheNextRequestFails(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	failing := func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/status") {
				return nil, errors.New("the network is down")
			}
			return next.RoundTrip(req)
		})
	}
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
			r.Patch.Set("spec.field", "y")
			r.Patch.Set("status.x", 1)
			return nil
		}, kopf.ID("create"))
	}, withoutInspector, transport(failing), transport(heldBack(func(line string) bool { return strings.Contains(line, `\"purpose\":`) })),
		settings(func(s *kopf.Settings) { s.Networking.ErrorBackoffs = slices.Values([]time.Duration(nil)) }))
	cluster.Create(withField("a", "x"))
	b.waitContent(cluster, "y: a")
}

func TestIndex_Errors(t *testing.T) {
	tests := map[string]struct {
		options  []kopf.IndexOption
		failing  string // the field
		during   string // the index after the failure
		after    string // the index after the field is good again
		excluded bool   // the function is not called then
	}{
		"arbitrary ones are ignored by default":  {nil, "arbitrary", "x: a; x2: b", "x2: b; y: a", false},
		"arbitrary ones may be permanent":        {[]kopf.IndexOption{kopf.ErrorsPermanent}, "arbitrary", "x2: b", "x2: b", true},
		"permanent ones exclude permanently":     {nil, "never", "x2: b", "x2: b", true},
		"temporary ones exclude for the delay":   {nil, "later", "x2: b", "x2: b", true},
		"the last of the retries is permanently": {[]kopf.IndexOption{kopf.Attempts(1)}, "soon", "x2: b", "x2: b", true},
		"arbitrary ones may exclude for no time": {[]kopf.IndexOption{kopf.ErrorsTemporary, kopf.RetryDelay(0)}, "arbitrary", "x2: b", "x2: b; y: a", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cluster, b := newCluster(t), &byField{}
			a := cluster.Create(withField("a", "x"))
			cluster.Create(withField("b", "x2"))
			cluster.Run(func(r *kopf.Registry) { b.register(r, kexes, tt.options...) }, withoutInspector)
			b.waitContent(cluster, "x: a; x2: b")
			a.Patch(field(tt.failing))
			b.calls.wait(cluster, "a "+tt.failing+" 0", 1)
			b.waitContent(cluster, tt.during)
			a.Patch(field("y"))
			cluster.Create(withField("last", "z"))
			b.waitContent(cluster, strings.TrimSuffix(tt.after, "; ")+"; z: last")
			called := slices.ContainsFunc(b.calls.all(), func(call string) bool { return strings.HasPrefix(call, "a y ") })
			if called == tt.excluded {
				t.Errorf("calls: %v", b.calls.all())
			}
		})
	}
}

func TestIndex_RetriedAfterDelay(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	var mended atomic.Bool
	cluster.Run(func(r *kopf.Registry) {
		b.index = kopf.NewIndex(r, kexes, func(ctx context.Context, p *indexed) (map[string]string, error) {
			b.ctx.Store(&ctx)
			b.calls.add(fmt.Sprintf("%s %d", p.Name, p.Retry))
			if p.Name == "b" && !mended.Load() {
				return nil, kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			return map[string]string{"x": p.Name}, nil
		}, kopf.ID("by-field"))
	}, withoutInspector)
	cluster.Create(withField("a", "x"))
	cluster.Create(withField("b", "x"))
	b.calls.wait(cluster, "b 3", 1)
	b.waitContent(cluster, "x: a")
	mended.Store(true)
	b.waitContent(cluster, "x: a b")
	if n := b.calls.count("a 0"); n != 1 {
		t.Errorf("the other object was indexed %d times", n)
	}
}

func TestIndex_FilledAnewAfterRestart(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	a := cluster.Create(withField("a", "x"))
	op := cluster.Run(func(r *kopf.Registry) { b.register(r, kexes) }, withoutInspector)
	b.waitContent(cluster, "x: a")
	op.Stop()
	a.Delete()
	cluster.Create(withField("b", "y"))
	again := &byField{}
	cluster.Run(func(r *kopf.Registry) { again.register(r, kexes) }, withoutInspector)
	again.waitContent(cluster, "y: b")
	b.waitContent(cluster, "x: a") // readers with a context of the previous operator see its last state
}

func TestIndex_EachOperatorHasItsOwn(t *testing.T) {
	cluster := newCluster(t)
	other := cluster.Namespace + "-other"
	cluster.CreateNamespace(other)
	cluster.Create(withField("here", "x"))
	cluster.Create(in(other, withField("there", "x")))
	first, second := &byField{}, &byField{}
	cluster.Run(func(r *kopf.Registry) { first.register(r, kexes) }, withoutInspector)
	cluster.Run(func(r *kopf.Registry) { second.register(r, kexes) }, serving(other), withoutInspector)
	second.index = first.index
	first.waitContent(cluster, "x: here")
	second.waitContent(cluster, "x: there")
}

func TestIndex_RecreatedObjectIsNotExcluded(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	cluster.Run(func(r *kopf.Registry) { b.register(r, kexes) }, withoutInspector)
	a := cluster.Create(withField("a", "never"))
	b.calls.wait(cluster, "a never 0", 1)
	a.Patch(field("x"))
	cluster.Create(withField("b", "y"))
	b.waitContent(cluster, "y: b")
	a.Delete()
	cluster.Create(withField("a", "x"))
	b.waitContent(cluster, "x: a; y: b")
}

func TestIndex_SeveralResources(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	cluster.Create(withField("same", "x"))
	cluster.Run(func(r *kopf.Registry) {
		b.register(r, kexes)
		b.register(r, plains)
	}, withoutInspector)
	b.waitContent(cluster, "x: same")
	same := cluster.Create(plain.of(withField("same", "x")))
	b.waitContent(cluster, "x: same same")
	same.Delete()
	b.waitContent(cluster, "x: same")
}

func TestIndex_OnlyIndexedObjectIsNotPatched(t *testing.T) {
	cluster, b := newCluster(t), &byField{}
	op := cluster.Run(func(r *kopf.Registry) { b.register(r, kexes) }, logPatches, withoutInspector)
	a := cluster.Create(withField("a", "x"))
	b.waitContent(cluster, "x: a")
	a.Patch(field("y"))
	b.waitContent(cluster, "y: a")
	a.Delete()
	a.WaitGone() // there is no finalizer
	b.waitContent(cluster, "")
	if patches := patchesOf(op); len(patches) > 0 {
		t.Errorf("patched: %v", patches)
	}
}
