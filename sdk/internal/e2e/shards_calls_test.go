package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// shardCall is a call of a handler by a replica.
type shardCall struct {
	replica    string
	uid        string
	n          int // number of the change
	start, end time.Time
}

// shardCalls notes the calls of all replicas. It is safe for concurrent use.
type shardCalls struct {
	mu     sync.Mutex
	all    []shardCall
	killed map[string]time.Time
}

func (c *shardCalls) add(one shardCall) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
}

func (c *shardCalls) kill(replica string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed == nil {
		c.killed = map[string]time.Time{}
	}
	c.killed[replica] = time.Now()
}

// snapshot returns the calls before the replicas that made them were killed.
func (c *shardCalls) snapshot() []shardCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	var before []shardCall
	for _, one := range c.all {
		if end, killed := c.killed[one.replica]; killed {
			if !one.start.Before(end) {
				continue // begun after the simulated kill
			}
			if one.end.After(end) {
				one.end = end
			}
		}
		before = append(before, one)
	}
	slices.SortFunc(before, func(a, b shardCall) int { return a.start.Compare(b.start) })
	return before
}

// every returns all calls, also those after their replicas were killed.
func (c *shardCalls) every() []shardCall {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// handled returns the newest change of each object that was handled before its replica was killed.
func (c *shardCalls) handled() map[string]int { return newestOf(c.snapshot()) }

// newestOf returns the newest change of each object that has a call, by uid.
func newestOf(calls []shardCall) map[string]int {
	newest := map[string]int{}
	for _, one := range calls {
		newest[one.uid] = max(newest[one.uid], one.n)
	}
	return newest
}

// recordedChanges returns the change of each object that its last-handled state has, by uid.
func recordedChanges(cluster *kopftest.Cluster) map[string]int {
	recorded := map[string]int{}
	for _, o := range cluster.List(plain.name()) {
		recorded[fmt.Sprint(o.Get("metadata.uid"))] = recordedChange(o.Get("metadata.annotations[" + lastHandled + "]"))
	}
	return recorded
}

// recordedChange returns the change that a last-handled state has; 0 if there is none yet.
func recordedChange(lastHandled any) int {
	var state struct{ Spec struct{ N int } }
	_ = json.Unmarshal([]byte(fmt.Sprint(lastHandled)), &state)
	return state.Spec.N
}

// register registers handlers that note their calls.
func (c *shardCalls) register(replica string, takes time.Duration) func(*kopf.Registry) {
	return func(r *kopf.Registry) {
		note := func(ctx context.Context, req *change) error {
			one := shardCall{replica: replica, uid: string(req.UID), n: number(req.Body.Get("spec.n")), start: time.Now()}
			if takes > 0 {
				select {
				case <-time.After(takes):
				case <-ctx.Done():
				}
			}
			one.end = time.Now()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c.add(one)
			return nil
		}
		kopf.OnCreate(r, plains, note, kopf.ID("c"))
		kopf.OnUpdate(r, plains, note, kopf.ID("u"))
	}
}

// records are when the test has seen which changes are recorded as handled, by "uid n".
type records struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

func followRecords(t *testing.T, cluster *kopftest.Cluster) *records {
	t.Helper()
	r := &records{seen: map[string]time.Time{}}
	follow(t, cluster, &resources.Resource{Group: plain.group, Version: "v1", Plural: plain.plural, Kind: plain.kind, Namespaced: true}, func(o tree) {
		metadata := object.Metadata(o)
		annotations, _ := metadata["annotations"].(tree)
		n := recordedChange(annotations[lastHandled])
		if n == 0 {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if id := changeID(fmt.Sprint(metadata["uid"]), n); r.seen[id].IsZero() {
			r.seen[id] = time.Now()
		}
	})
	return r
}

// before reports whether a change was recorded before a time.
func (r *records) before(uid string, n int, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, ok := r.seen[changeID(uid, n)]
	return ok && seen.Before(at)
}

func changeID(uid string, n int) string { return fmt.Sprint(uid, " ", n) }

// follow calls a function for each version of the objects of a resource.
func follow(t *testing.T, cluster *kopftest.Cluster, res *resources.Resource, seen func(o tree)) {
	t.Helper()
	followEvents(t, cluster, res, func(_ bool, o tree) { seen(o) })
}

// followEvents calls a function for each version and each deletion of the objects of a resource.
func followEvents(t testing.TB, cluster *kopftest.Cluster, res *resources.Resource, seen func(deleted bool, o tree)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	client := testcluster.Client(t, kube.ClientOptions{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		watch.Run(ctx, watch.Options{Client: client, Resource: res, Namespace: cluster.Namespace, Handle: func(e watch.Event) {
			o, err := e.Object.Tree()
			if err != nil {
				t.Error(err)
				return
			}
			seen(e.Type == watch.Deleted, o)
		}})
	}()
}

func number(value any) int {
	var n int
	_, _ = fmt.Sscan(fmt.Sprint(value), &n)
	return n
}

// tenure is a time in which a replica held the lease of a shard, by the times that it wrote itself.
type tenure struct {
	holder string
	from   time.Time
}

// tenures follows the leases of all shards.
type tenures struct {
	mu      sync.Mutex
	byShard map[string][]tenure
}

func followTenures(t *testing.T, cluster *kopftest.Cluster) *tenures {
	t.Helper()
	tn := &tenures{byShard: map[string][]tenure{}}
	leases := &resources.Resource{Group: "coordination.k8s.io", Version: "v1", Plural: "leases", Kind: "Lease", Namespaced: true}
	follow(t, cluster, leases, func(lease tree) {
		labels, _ := object.Metadata(lease)["labels"].(tree)
		spec, _ := lease["spec"].(tree)
		shard, isShard := labels["kopf.dev/shard"].(string)
		holder, _ := spec["holderIdentity"].(string)
		from, err := time.Parse(time.RFC3339, fmt.Sprint(spec["acquireTime"]))
		if !isShard || holder == "" || err != nil {
			return
		}
		tn.mu.Lock()
		defer tn.mu.Unlock()
		all := tn.byShard[shard]
		if len(all) == 0 || all[len(all)-1].holder != holder {
			tn.byShard[shard] = append(all, tenure{holder, from})
		}
	})
	return tn
}

// count returns how many times a shard got another holder.
func (tn *tenures) count() int {
	tn.mu.Lock()
	defer tn.mu.Unlock()
	n := 0
	for _, history := range tn.byShard {
		n += len(history)
	}
	return n
}

// check fails the test for calls by replicas that did not hold the lease.
func (tn *tenures) check(t *testing.T, division shards.Division, all []shardCall) {
	t.Helper()
	tn.mu.Lock()
	defer tn.mu.Unlock()
	const rounding = time.Microsecond
	for _, one := range all {
		shard := division.Of(&object.Object{UID: one.uid})
		within := false
		history := tn.byShard[fmt.Sprint(shard)]
		for i, held := range history {
			until := one.end
			if i+1 < len(history) {
				until = history[i+1].from
			}
			within = within || held.holder == one.replica && !one.start.Before(held.from.Add(-rounding)) && !one.end.After(until.Add(rounding))
		}
		if !within {
			t.Errorf("%s called a handler for an object of shard %d from %s to %s, without the lease: %v",
				one.replica, shard, one.start.Format(time.StampMicro), one.end.Format(time.StampMicro), history)
		}
	}
}

// checkApart fails the test if two replicas handled objects of a shard at the same time, or one object twice. A
// change may be handled again only if the replica that handled it before was killed before it had recorded that.
func (c *shardCalls) checkApart(t *testing.T, division shards.Division, recorded *records) {
	t.Helper()
	last, seen := map[int]shardCall{}, map[string]shardCall{}
	for _, one := range c.snapshot() {
		shard := division.Of(&object.Object{UID: one.uid})
		if before, any := last[shard]; any && before.replica != one.replica && one.start.Before(before.end) {
			t.Errorf("shard %d: %s and %s at the same time: %+v, %+v", shard, before.replica, one.replica, before, one)
		}
		if before := last[shard]; before.end.Before(one.end) {
			last[shard] = one
		}
		id := changeID(one.uid, one.n)
		if before, again := seen[id]; again {
			end, killed := c.killed[before.replica]
			if !killed || recorded.before(one.uid, one.n, end) {
				t.Errorf("a change is handled twice: %+v, %+v", before, one)
			}
		}
		seen[id] = one
	}
}
