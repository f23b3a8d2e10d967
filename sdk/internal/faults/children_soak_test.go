package faults

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	inspector "github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const (
	shopNames      = 12
	shopKillWithin = 120
	shopPace       = 60 * time.Millisecond
)

// household is an operator under chaos with the shops of its users, and other clients.
type household struct {
	*testing.T
	cluster *kopftest.Cluster
	chaos   *kopftest.ChaosRun
	others  *others
	world   *world
	writes  writesOfChildren
	random  *rand.Rand

	shops     []*tenant
	fates     map[string]*fate     // all shops that ever were, by UID
	deleted   map[string]bool      // UIDs of the children that other clients have deleted
	strangers map[string]*stranger // objects that other clients have made, by UID
	values    int
	done      map[string]int // number of operations by their names
	resumed   int            // shops that a user has touched after the end of the faults, because the API server had refused a child for good
}

// tenant is a name that shops have one after the other.
type tenant struct {
	name   string
	uid    string // UID of the present or last shop
	handle *kopftest.Object
	spec   *shopSpec // nil without a shop
}

// fate is the past of a shop.
type fate struct {
	name  string
	least int  // the least number of ConfigMaps that the shop has wanted
	ended bool // the shop was deleted
}

// stranger is an object of another client that the operator must not touch.
type stranger struct {
	name, version string
	shop          *tenant // its ConfigMap has the name; nil if no shop wants the name
}

func newHousehold(t *testing.T, plan kopftest.ChaosPlan) *household {
	t.Helper()
	x := &household{
		T: t, cluster: kopftest.New(t), random: rand.New(rand.NewPCG(plan.Seed, 11)), //nolint:gosec // it has to be the same in each run
		fates: map[string]*fate{}, deleted: map[string]bool{}, strangers: map[string]*stranger{}, done: map[string]int{},
	}
	for _, k := range []kind{shops, parts, keepsakes, lasts} {
		x.cluster.Apply(k.definition())
	}
	x.others = &others{t, testcluster.Client(t, kube.ClientOptions{}), x.cluster.Namespace}
	x.world = newWorld(t, x.cluster.Namespace)
	for i := range shopNames {
		name := fmt.Sprint("shop-", i)
		x.shops = append(x.shops, &tenant{name: name})
		x.plant(takenName(name), nil, nil)
	}
	var log io.Writer = io.Discard
	if folder := os.Getenv(logVar); folder != "" {
		file, err := os.Create(filepath.Join(folder, t.Name()+".log"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		log = file
	}
	logger := slog.New(logging.NewHandler(log, &logging.Options{Level: slog.LevelDebug}))
	x.chaos = plan.Run(x.cluster, registerShops, func(o *kopf.Operator) {
		o.Logger = logger
		o.Settings.Posting.Disabled = true // its requests would be most of the writes
	}, x.writes.use)
	return x
}

// plant makes a ConfigMap of another client. It reports whether the name was free.
func (x *household) plant(name string, like *life, s *tenant) bool {
	x.Helper()
	o := configs.named(name)
	if like != nil {
		o["metadata"] = tree{"name": name, "labels": like.labels, "annotations": like.annotations}
	}
	uid, version := x.others.create(&configs, o)
	if uid != "" {
		x.strangers[uid] = &stranger{name: name, version: version, shop: s}
	}
	return uid != ""
}

// operate is one action of a user, or of another client.
func (x *household) operate() {
	x.Helper()
	s := x.shops[x.random.IntN(len(x.shops))]
	what := x.random.IntN(100)
	x.values++
	value := fmt.Sprint("v", x.values)
	if s.spec == nil {
		x.open(s, value)
		return
	}
	k := &childKinds[x.random.IntN(len(childKinds))]
	names := s.wanted(k)
	name := names[x.random.IntN(len(names))]
	child := x.world.living(k.Plural, name)
	switch {
	case what < 6:
		x.done["a shop is deleted"]++
		s.handle.Delete()
		x.fates[s.uid].ended = true
		s.spec = nil
	case what < 20:
		x.done["a shop grows or shrinks"]++
		s.spec.Maps = 1 + x.random.IntN(maxMaps)
		x.fates[s.uid].least = min(x.fates[s.uid].least, s.spec.Maps)
		s.handle.Set("spec.maps", s.spec.Maps)
	case what < 40:
		x.done["a shop changes"]++
		s.spec.Value = value
		s.handle.Set("spec.value", value)
	case what < 45:
		x.done["a shop wants a taken name, or no longer"]++
		s.spec.Taken = !s.spec.Taken
		s.handle.Set("spec.taken", s.spec.Taken)
	case what < 62:
		x.count("a part gets ready, or not", x.ready(s.name, x.random.IntN(4) > 0))
	case child == nil || x.strangers[child.uid] != nil:
	default:
		x.disturb(s, k, child, value)
	}
}

// open makes a shop.
func (x *household) open(s *tenant, value string) {
	x.Helper()
	if x.world.living(shops.plural, s.name) != nil {
		return // its deletion is not over
	}
	x.done["a shop is created"]++
	s.spec = &shopSpec{Value: value, Maps: 1 + x.random.IntN(maxMaps)}
	s.handle = x.cluster.Create(tree{
		"apiVersion": group + "/v1", "kind": shops.name, "metadata": tree{"name": s.name}, "spec": tree{"value": value, "maps": s.spec.Maps},
	})
	s.uid = uidOf(s.handle.Get())
	x.fates[s.uid] = &fate{name: s.name, least: s.spec.Maps}
	for end := time.Now().Add(settleTimeout); x.world.living(shops.plural, s.name) == nil; {
		if !pause(x.Context(), 10*time.Millisecond) || time.Now().After(end) {
			x.Fatalf("Shop %s is never seen", s.name)
		}
	}
}

func (x *household) count(what string, done bool) {
	if done {
		x.done[what]++
	}
}

// ready makes the part of a shop ready or not.
func (x *household) ready(name string, ready bool) bool {
	x.Helper()
	status := map[bool]string{true: "True", false: "False"}[ready]
	k := custom(parts)
	return x.others.patch(&k, name, "status", tree{"status": tree{"conditions": []any{tree{"type": "Ready", "status": status}}}})
}

// disturb is an action of another client on a child.
func (x *household) disturb(s *tenant, k *childKind, child *life, value string) {
	x.Helper()
	meta := func(member, name string, value any) tree {
		return tree{"metadata": tree{"uid": child.uid, member: tree{name: value}}}
	}
	switch what := x.random.IntN(100); {
	case what < 30:
		changes := meta("annotations", valueAt, "evil")
		if group, field, _ := strings.Cut(string(k.value), "."); group != "metadata" {
			changes = tree{"metadata": tree{"uid": child.uid}, group: tree{field: "evil"}}
		}
		x.count("a child is edited", x.others.patch(k, child.name, "", changes))
	case what < 40:
		x.count("a child gets further fields", x.others.patch(k, child.name, "", meta("annotations", "example.com/note", value)))
	case what < 50:
		x.count("a child loses the mark of its apply", x.others.patch(k, child.name, "", meta("annotations", "kopf.zalando.org/applied", nil)))
	case what < 60 && k.Plural != keepsakes.plural && k.Plural != lasts.plural: // without a label, these would be left behind with their shop
		label := []string{ownedByLabel, ownerUIDLabel}[x.random.IntN(2)]
		x.count("a child loses a label", x.others.patch(k, child.name, "", meta("labels", label, nil)))
	case what < 80:
		if done := x.others.delete(k, child.name, child.uid); done {
			x.done["a child is deleted"]++
			x.deleted[child.uid] = true
		}
	case what < 90:
		if child = x.world.living(configs.Plural, mapName(s.name, 0)); child != nil {
			x.count("a copy of a child is planted", x.plant(fmt.Sprint("copy-", x.values), child, nil))
		}
	case k.Plural == configs.Plural:
		if x.others.delete(k, child.name, child.uid) {
			x.deleted[child.uid] = true
			x.count("a child is replaced by another client's object", x.plant(child.name, nil, s))
		}
	}
}

// settle ends the faults, and waits until the cluster is as the shops want it. It returns the remaining problems.
func (x *household) settle() []string {
	x.Helper()
	operator := x.chaos.Calm()
	problems := x.touched()
	for uid, s := range x.strangers { // the users give the names back
		if s.shop != nil {
			x.others.delete(&configs, s.name, uid)
			delete(x.strangers, uid)
			x.deleted[uid] = true
		}
	}
	for _, s := range x.shops {
		if s.spec != nil {
			s.spec.Taken = false
			s.tick()
		}
	}
	var open []string
	for end := time.Now().Add(settleTimeout); time.Now().Before(end); {
		for _, s := range x.shops {
			if s.spec != nil {
				x.ready(s.name, true)
			}
		}
		x.resume(operator)
		if open = x.problems(); len(open) == 0 {
			break
		}
		pause(x.Context(), 500*time.Millisecond)
	}
	problems = append(problems, open...)
	if len(open) == 0 {
		problems = append(problems, x.loops(operator)...)
	}
	operator.Stop()
	return append(problems, x.unprovoked()...)
}

// tick changes a shop in a way that does not concern its children, and in its wish for a taken name.
func (s *tenant) tick() {
	s.spec.Tick++
	s.handle.Patch(tree{"spec": tree{"tick": s.spec.Tick, "taken": s.spec.Taken}})
}

// resume touches the shops whose last pass has failed for good: the API server had refused a child as invalid.
func (x *household) resume(operator *kopftest.Operator) {
	x.Helper()
	failed := map[string]bool{}
	for _, o := range operator.Inspect().Objects {
		if slices.ContainsFunc(o.Handlers, func(h inspector.HandlerState) bool { return h.State == inspector.PhaseFailed }) {
			failed[o.Name] = true
		}
	}
	for _, s := range x.shops {
		if s.spec != nil && failed[s.name] {
			x.resumed++
			s.tick()
		}
	}
}

// loops makes passes until none of them changes a child. It returns a problem if none comes to that.
func (x *household) loops(operator *kopftest.Operator) []string {
	x.Helper()
	const rounds = 20
	for range rounds {
		before := x.writes.n.Load()
		for _, s := range x.shops {
			if s.spec != nil {
				s.tick()
			}
		}
		for _, s := range x.shops {
			if s.spec != nil {
				operator.WaitHandled(s.handle)
			}
		}
		if x.writes.n.Load() == before {
			return x.problems()
		}
	}
	return []string{fmt.Sprintf("the operator has written children in each of %d rounds", rounds)}
}

func TestChildren_SurviveTrouble(t *testing.T) {
	duration := soakTime(t)
	seed := kopftest.Seed(t)
	plan := kopftest.Chaos(seed)
	plan.KillWithin = shopKillWithin
	x := newHousehold(t, plan)
	began := time.Now()
	for time.Since(began) < duration {
		x.operate()
		pause(t.Context(), time.Duration(x.random.Int64N(2*int64(shopPace))))
	}
	problems := x.settle()
	stats := x.chaos.Stats()
	faults := 0
	for _, n := range stats.Faults {
		faults += n
	}
	children := 0
	for _, k := range childKinds {
		children += len(x.world.all(k.Plural))
	}
	operations := 0
	for _, what := range slices.Sorted(maps.Keys(x.done)) {
		operations += x.done[what]
		t.Logf("%6d × %s", x.done[what], what)
	}
	t.Logf("seed %d, %s: %d shops and %d children had %d operations, %d faults and %d lives of the operator (%d killed); %d writes of children; %d refusals resumed; %d problems",
		seed, time.Since(began).Round(time.Second), len(x.fates), children, operations, faults, stats.Lives, stats.Kills, x.writes.n.Load(), x.resumed, len(problems))
	for _, p := range problems[:min(len(problems), 30)] {
		t.Error(p)
	}
	if stats.Kills == 0 || len(stats.Faults) < 10 {
		t.Errorf("too little has gone wrong: %d kills, %d kinds of faults", stats.Kills, len(stats.Faults))
	}
}
