package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// trouble gives strange answers to the next requests for some children.
type trouble struct {
	mu    sync.Mutex
	armed map[string]*armed // keys are a method with the name of the child
}

// armed is the trouble that is left for the requests of a method for a child.
type armed struct {
	strange     strange
	times, left int
}

func (d *trouble) arm(method, name string, s strange, times int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed[method+" "+name] = &armed{s, times, times}
}

// end ends all troubles. It returns the troubles that have met no request.
func (d *trouble) end() (unmet []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for request, a := range d.armed {
		if a.left == a.times {
			unmet = append(unmet, request)
		}
	}
	clear(d.armed)
	return unmet
}

func (d *trouble) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if s := d.take(req.Method + " " + path.Base(req.URL.Path)); s != nil {
			return s(req, next)
		}
		return next.RoundTrip(req)
	})
}

func (d *trouble) take(request string) strange {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.armed[request]
	if a == nil || a.left == 0 {
		return nil
	}
	a.left--
	return a.strange
}

// troubles are the answers that a pass survives.
var troubles = map[string]strange{
	"409": failing(409), "429": answer(429, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":429}`, "Retry-After", "1"),
	"500": failing(500), "503": failing(503), "403": failing(403), "page": answer(200, "<html>welcome</html>"),
	"down": func(*http.Request, http.RoundTripper) (*http.Response, error) { return nil, errRefused }, "lost": lost, "garbled": garbled,
}

var errRefused = errors.New("connection refused")

// hasty repeats failed requests once and failed passes at once.
func hasty(s *kopf.Settings) {
	impatient(s)
	s.Execution.DefaultRetryDelay = 10 * time.Millisecond
}

// namedMaps returns the ConfigMaps that are named in the spec of the parent.
func namedMaps(p *kopf.Pass[kopf.Object]) (all []tree) {
	for _, name := range kopf.GetOr(p.Object, "spec.names", []any{}) {
		all = append(all, tree{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": tree{"name": name}, "data": tree{"value": kopf.GetOr(p.Object, "spec.value", "")},
		})
	}
	return all
}

// troubled is a parent whose children's requests are in trouble.
type troubled struct {
	*kopftest.Object
	name, kept, pruned string // names of the parent and its children
	strange            strange
	times              int
	uid                any
}

// Each parent has another trouble, and lives through the same phases. In each phase, the trouble begins anew.
func TestChildren_TroubleOfRequestsChangesNoEnd(t *testing.T) {
	d := &trouble{armed: map[string]*armed{}}
	k := keep(t, tree{"names": []any{"main"}}, owning("v1 configmaps"), namedMaps, transport(d.wrap), settings(hasty))
	k.WaitHandled(k.Create(k.own.of(tree{"metadata": tree{"name": "probe"}, "spec": tree{"names": []any{"probe"}}})))
	history := followValues(k)
	k.WaitUntil("the history has begun", func() bool { return len(history.of("probe")) > 0 })
	var all []*troubled
	for name, s := range troubles {
		times := 3 // the client repeats a request once, so that three end the pass
		if name == "429" {
			times = 1
		}
		all = append(all, &troubled{name: name, kept: name + "-a", pruned: name + "-b", strange: s, times: times})
	}
	phase := func(what string, change func(p *troubled), done func(p *troubled) bool, requests ...string) {
		t.Helper()
		for _, p := range all {
			for _, r := range requests {
				method, child, _ := strings.Cut(r, " ")
				d.arm(method, map[string]string{"a": p.kept, "b": p.pruned}[child], p.strange, p.times)
			}
			change(p)
		}
		for _, p := range all {
			k.WaitUntil(what+" of "+p.name, func() bool { return done(p) })
			k.WaitHandled(p.Object)
		}
		if unmet := d.end(); len(unmet) > 0 {
			t.Errorf("%s: no such request: %q", what, unmet)
		}
	}
	values := func(p *troubled) string {
		text := map[any]any{}
		for _, o := range k.List("configmaps") {
			text[o.Get("metadata.name")] = o.Get("data.value")
		}
		return fmt.Sprint(text[p.kept], " ", text[p.pruned])
	}
	have := func(want string) func(*troubled) bool { return func(p *troubled) bool { return values(p) == want } }

	phase("the creation", func(p *troubled) {
		p.Object = k.Create(k.own.of(tree{"metadata": tree{"name": p.name}, "spec": tree{"names": []any{p.kept, p.pruned}, "value": "1"}}))
	}, have("1 1"), "GET a", "PATCH a", "PATCH b")
	strangers := map[*kopftest.Object]*kopf.Object{}
	for _, p := range all {
		child := k.Object("configmaps", p.pruned).Get()
		p.uid = k.Object("configmaps", p.kept).Get().Get("metadata.uid")
		copied := k.Create(configMap(p.name+"-copy", tree{
			"labels": child.Get("metadata.labels"), "annotations": child.Get("metadata.annotations"), "ownerReferences": child.Get("metadata.ownerReferences"),
		}))
		strangers[copied] = copied.Get()
	}
	phase("the update", func(p *troubled) { p.Set("spec.value", "2") }, have("2 2"), "PATCH a", "PATCH b")
	phase("the repair", func(p *troubled) { k.Object("configmaps", p.kept).Set("data.value", "other") }, have("2 2"), "PATCH a")
	phase("the pruning", func(p *troubled) { p.Set("spec.names", []any{p.kept}) }, have("2 <nil>"), "GET b", "DELETE b")
	phase("the return", func(p *troubled) { p.Set("spec.names", []any{p.kept, p.pruned}) }, have("2 2"), "GET b", "PATCH b")

	for _, p := range all {
		k.WaitUntil("the history of "+p.name+" is complete", func() bool {
			return len(history.of(p.kept)) >= 4 && len(history.of(p.pruned)) >= 4
		})
		if got := history.of(p.kept); !slices.Equal(got, []string{"1", "2", "other", "2"}) {
			t.Errorf("%s had the values %q", p.kept, got)
		}
		if got := history.of(p.pruned); !slices.Equal(got, []string{"1", "2", "gone", "2"}) {
			t.Errorf("%s had the values %q", p.pruned, got)
		}
		if now := k.Object("configmaps", p.kept).Get().Get("metadata.uid"); now != p.uid {
			t.Errorf("%s is another object", p.kept)
		}
	}
	for o, before := range strangers {
		same(t, o, before)
	}
	k.checkIdle(k.Object("configmaps", "probe"))
}

// values are the values that children had in the order of the watch.
type values struct {
	mu   sync.Mutex
	seen map[string][]string
}

// followValues notes the values of all ConfigMaps.
func followValues(k *keeper) *values {
	k.t.Helper()
	v := &values{seen: map[string][]string{}}
	followEvents(k.t, k.Cluster, configMaps, func(deleted bool, o tree) {
		data, _ := o["data"].(tree)
		value, _ := data["value"].(string)
		if deleted {
			value = "gone"
		}
		v.mu.Lock()
		defer v.mu.Unlock()
		name := fmt.Sprint(o["metadata"].(tree)["name"])
		if all := v.seen[name]; len(all) == 0 || all[len(all)-1] != value {
			v.seen[name] = append(all, value)
		}
	})
	return v
}

func (v *values) of(name string) []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.seen[name])
}

// An admission webhook can refuse each apply by 409. Then a pass ends after a few requests, and another one follows.
func TestChildren_LastingConflictEndsEachPass(t *testing.T) {
	const most = 6 // requests of a pass
	d := &trouble{armed: map[string]*armed{}}
	k := keep(t, tree{"names": []any{"kid"}, "value": "1"}, owning("v1 configmaps"), namedMaps, transport(d.wrap), settings(hasty))
	before := len(k.passed())
	d.arm("PATCH", "kid", failing(409), 1_000_000)
	k.parent.Set("spec.value", "2")
	k.WaitLogs("apply ConfigMap kid: ", 3)
	refused := d.armed["PATCH kid"]
	d.end()
	if sent, passes := refused.times-refused.left, len(k.passed())-before; sent > most*passes {
		t.Errorf("%d passes have sent %d requests", passes, sent)
	}
	k.Object("configmaps", "kid").WaitValue("data.value", "2")
	k.checkIdle()
}

func TestChildren_InvalidOnesFailForGood(t *testing.T) {
	k := keep(t, tree{}, owning("v1 configmaps"), namedMaps, settings(hasty))
	failed := k.Create(k.own.of(tree{"metadata": tree{"name": "x"}, "spec": tree{"names": []any{"Not_A_Name", "good"}}}))
	k.WaitFailed(failed)
	k.WaitLog("Handler 'reconcile' failed permanently: apply ConfigMap Not_A_Name: ")
	if !k.Object("configmaps", "good").Exists() {
		t.Error("the other child was not applied")
	}
	k.checkIdle()
	failed.Set("spec.names", []any{"good", "better"})
	k.Object("configmaps", "better").WaitValue("metadata.name", "better")
	k.checkIdle()
}

func TestChildren_RefusedPermissionIsNamedAndAwaited(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	config := permitted(cluster, "list", "watch", "patch")
	grant(cluster, "parents", false, rule(own.group, "*", "list", "watch", "patch"))
	grant(cluster, "streams", false, rule("", "configmaps", "list", "watch", "get"))
	waitListable(cluster, config, "/apis/"+own.group+"/v1", own.plural)
	waitListable(cluster, config, "/api/v1", "configmaps")
	k := &keeper{t: t, Cluster: cluster, own: own}
	k.run(owning("v1 configmaps"), namedMaps, connect(config), settings(hasty))
	k.parent = cluster.Create(own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"names": []any{"x"}}}))
	if a := alarms(k.Operator, inspect.AlarmForbidden, 1); a.Verb != "patch" || a.Resource != "configmaps.v1" {
		t.Errorf("the alarm is %+v", a)
	}
	k.WaitLog("apply ConfigMap x: ")
	grant(cluster, "children", false, rule("", "configmaps", "patch", "create", "delete"))
	cluster.Object("configmaps", "x").WaitValue("metadata.name", "x")
	alarms(k.Operator, inspect.AlarmForbidden, 0)
	k.settle(k.parent)
	k.checkIdle()
}

// troublesOfStreams are faults of the lists and watches of children.
var troublesOfStreams = map[string][]kopftest.FaultRule{
	"lists refused":     {{Match: listsOf("configmaps"), Times: 3, Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 403}}},
	"lists throttled":   {{Match: listsOf("configmaps"), Times: 2, Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 429, RetryAfter: time.Second}}},
	"lists unavailable": {{Match: listsOf("configmaps"), Times: 3, Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 503}}},
	"lists cut":         {{Match: listsOf("configmaps"), Times: 3, Fault: kopftest.Fault{Kind: kopftest.FaultTruncate}}},
	"lists of the past": {{Match: listsOf("configmaps"), Times: 3, Fault: kopftest.Fault{Kind: kopftest.FaultStale, Age: time.Second, Delay: time.Second}}},
	"watches cut":       {{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultDrop, Events: 4}}},
	"watches expired":   {{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 410, Events: 4}}},
	"watches late":      {{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultDelay, Delay: 200 * time.Millisecond}}},
	"watches confused": {
		{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultOutdated}, Chance: 0.5},
		{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultReorder}, Chance: 0.3},
		{Match: watchesOf("configmaps"), Fault: kopftest.Fault{Kind: kopftest.FaultDuplicate}, Chance: 0.5},
	},
	"group unavailable": {{Match: kopftest.Requests("", "configmaps"), Times: 12, Fault: kopftest.Fault{Kind: kopftest.FaultStatus, Code: 503}}},
}

func listsOf(plural string) func(*http.Request) bool {
	return func(r *http.Request) bool { return kopftest.Lists(r) && kopftest.Requests("GET", plural)(r) }
}

func watchesOf(plural string) func(*http.Request) bool {
	return func(r *http.Request) bool { return kopftest.Watches(r) && kopftest.Requests("GET", plural)(r) }
}

func TestChildren_TroubleOfStreamsChangesNoEnd(t *testing.T) {
	for name, rules := range troublesOfStreams {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			seed := kopftest.Seed(t)
			proxy := cluster.FaultProxy(kopftest.Faults{Seed: seed, Rules: rules})
			k := &keeper{t: t, Cluster: cluster, own: ownResource(cluster)}
			k.run(owning("v1 configmaps"), namedMaps, proxy.Connect, settings(hasty), settings(func(s *kopf.Settings) {
				s.Watching.ReconnectBackoff = time.Millisecond
			}))
			history := followValues(k)
			k.parent = k.Create(k.own.of(tree{"metadata": tree{"name": "main"}, "spec": tree{"names": []any{"a", "b"}, "value": "1"}}))
			a, b := k.Object("configmaps", "a"), k.Object("configmaps", "b")
			b.WaitValue("data.value", "1")
			uid := a.Get().Get("metadata.uid")
			proxy.Set(kopftest.Faults{Seed: seed, Rules: rules})
			k.parent.Set("spec.value", "2")
			b.WaitValue("data.value", "2")
			k.Stop()
			proxy.Set(kopftest.Faults{Seed: seed, Rules: rules})
			a.Set("data.value", "other")
			k.Start()
			a.WaitValue("data.value", "2")
			k.parent.Set("spec.names", []any{"a"})
			b.WaitGone()
			proxy.Set(kopftest.Faults{Seed: seed, Rules: rules})
			k.parent.Set("spec.names", []any{"a", "b"})
			b.WaitValue("data.value", "2")
			k.Restart()
			proxy.Calm()
			proxy.Disconnect()
			k.settle(k.parent)
			k.checkIdle(a)
			if now := a.Get().Get("metadata.uid"); now != uid {
				t.Error("a child was replaced")
			}
			if got := history.of("a"); !slices.Equal(got, []string{"1", "2", "other", "2"}) {
				t.Errorf("a had the values %q", got)
			}
			if got := history.of("b"); !slices.Equal(got, []string{"1", "2", "gone", "2"}) {
				t.Errorf("b had the values %q", got)
			}
		})
	}
}
