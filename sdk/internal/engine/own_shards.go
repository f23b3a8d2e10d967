package engine

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// ownShards are the shards whose objects the operator handles, of all that its replicas share. A nil value is
// that of an operator that handles all objects. It is safe for concurrent use.
type ownShards struct {
	division shards.Division
	queue    *queue.Queue
	changed  func() // is called when streams must be started or stopped

	guards []fence.Guard // one guard per shard, by the number of the shard

	mu     sync.Mutex
	gained int // how many times shards were added
	own    atomic.Pointer[shards.Set]
}

func newOwnShards(d shards.Division, q *queue.Queue, changed func()) *ownShards {
	o := &ownShards{division: d, queue: q, changed: changed, guards: make([]fence.Guard, d.Shards)}
	for shard := range o.guards {
		o.guards[shard].Drop()
	}
	o.own.Store(new(shards.Set))
	return o
}

// set sets the shards. What is queued of new ones is from a time before, and outdated.
func (o *ownShards) set(own shards.Set) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := *o.own.Load()
	var added []int
	for _, shard := range own.All() {
		if !before.Has(shard) {
			added = append(added, shard)
		}
	}
	if len(added) > 0 {
		fresh := shards.NewSet(added...)
		o.queue.DropObjects(func(key queue.Key, namespace string) bool { return fresh.Has(o.ofKey(key, namespace)) })
		o.gained++
	}
	o.own.Store(&own)
	if len(added) > 0 || own.Len() == 0 {
		o.changed()
	}
}

// gains returns how many times shards were added. Streams that started before miss their objects.
func (o *ownShards) gains() int {
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gained
}

// of returns the shard of an object.
func (o *ownShards) of(obj *object.Object) int {
	if o == nil {
		return 0
	}
	return o.division.Of(obj)
}

// guard returns the guard of a shard.
func (o *ownShards) guard(shard int) *fence.Guard { return &o.guards[shard] }

// actsOn reports whether the operator handles the objects of a shard.
func (o *ownShards) actsOn(shard int) bool { return o == nil || o.own.Load().Has(shard) }

// any reports whether the operator may handle objects of a resource.
func (o *ownShards) any(res *servedResource) bool {
	return o == nil || !res.narrowed() || o.own.Load().Len() > 0
}

// owns reports whether the operator handles an object of a resource.
func (o *ownShards) owns(res *servedResource, obj *object.Object) bool {
	return o == nil || !res.narrowed() || o.actsOn(o.division.Of(obj))
}

// ownsKey is [ownShards.owns] for an object that is remembered. A resource that is not served anymore is owned.
func (o *ownShards) ownsKey(res *servedResource, key queue.Key, namespace string) bool {
	return o == nil || res == nil || !res.narrowed() || o.actsOn(o.ofKey(key, namespace))
}

// ofKey returns the shard of an object that is remembered.
func (o *ownShards) ofKey(key queue.Key, namespace string) int {
	uid := key.Object
	if strings.Contains(uid, "/") {
		uid = "" // of an extension server that has none
	}
	return o.division.Of(&object.Object{UID: uid, Namespace: namespace})
}

// selector returns the parameter shardSelector of requests.
func (o *ownShards) selector() string { return o.division.Selector(*o.own.Load()) }

// refuses returns why the objects of a resource with these handlers cannot be shared; it is empty if they can.
func (o *ownShards) refuses(set *handlers.Set) string {
	if o == nil || o.division.Key == shards.ByNamespace || !set.Has(handlers.Indexing) {
		return ""
	}
	if !set.Has(handlers.Changing) && !set.Has(handlers.Watching) && !set.Has(handlers.Spawning) {
		return "" // each replica indexes all objects
	}
	return "its objects are both indexed and handled, and each replica would index only its own shards; use --shard-key=namespace, or remove the index"
}
