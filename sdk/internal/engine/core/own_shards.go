package core

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// ownShards are the shards whose objects this replica handles. A nil value handles all objects. It is safe for concurrent use.
type ownShards struct {
	Division shards.Division
	queue    *queue.Queue
	changed  func() // callback that starts or stops streams after a change of the shards

	guards []fence.Guard // guards by the number of the shard

	mu     sync.Mutex // held while the shards change, so that a reader of a new shard also reads the gain
	gained int        // see [ownShards.Gains]
	Own    atomic.Pointer[shards.Set]
}

// NewOwnShards returns an empty set of own shards.
func NewOwnShards(d shards.Division, q *queue.Queue, changed func()) *ownShards {
	o := &ownShards{Division: d, queue: q, changed: changed, guards: make([]fence.Guard, d.Shards)}
	for shard := range o.guards {
		o.guards[shard].Drop()
	}
	o.Own.Store(new(shards.Set))
	return o
}

// Set replaces the own shards. It drops queued objects of added shards, because they predate the ownership.
func (o *ownShards) Set(own shards.Set) {
	o.mu.Lock()
	defer o.mu.Unlock()
	added := slices.DeleteFunc(slices.Clone(own.All()), o.Own.Load().Has)
	if len(added) > 0 {
		fresh := shards.NewSet(added...)
		o.queue.DropObjects(func(key queue.Key, namespace string) bool { return fresh.Has(o.OfKey(key, namespace)) })
		o.gained++
	}
	o.Own.Store(&own)
	if len(added) > 0 || own.Len() == 0 {
		o.changed()
	}
}

// Gains returns how often shards were added. A stream that started at a lower number lacks the objects of the added shards.
func (o *ownShards) Gains() int {
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.gained
}

// Guard returns the guard of a shard.
func (o *ownShards) Guard(shard int) *fence.Guard { return &o.guards[shard] }

// Any reports whether this replica may handle objects of a resource.
func (o *ownShards) Any(res *ServedResource) bool {
	return o == nil || !res.Narrowed() || o.Own.Load().Len() > 0
}

// Owns reports whether this replica handles an object of a resource.
func (o *ownShards) Owns(res *ServedResource, obj *object.Object) bool {
	return o == nil || !res.Narrowed() || o.Own.Load().Has(o.Division.Of(obj))
}

// OwnsKey is [ownShards.Owns] for a remembered object. It returns true if the resource is not served: res is nil.
func (o *ownShards) OwnsKey(res *ServedResource, key queue.Key, namespace string) bool {
	return o == nil || res == nil || !res.Narrowed() || o.Own.Load().Has(o.OfKey(key, namespace))
}

// OfKey returns the shard of a remembered object.
func (o *ownShards) OfKey(key queue.Key, namespace string) int {
	uid := key.Object
	if strings.Contains(uid, "/") {
		uid = "" // the key has a name, because an extension server assigned no UID
	}
	return o.Division.Of(&object.Object{UID: uid, Namespace: namespace})
}

// Selector returns the shardSelector parameter of list and watch requests.
func (o *ownShards) Selector() string { return o.Division.Selector(*o.Own.Load()) }

// Refuses returns the reason why replicas cannot share the objects of a resource with these handlers; it is empty if they can.
func (o *ownShards) Refuses(set *handlers.Set) string {
	if o == nil || o.Division.Key == shards.ByNamespace || !set.Has(handlers.Indexing) || !handled(set) {
		return "" // each replica indexes all objects that are only indexed
	}
	return "its objects are both indexed and handled, and each replica would index only its own shards; use --shard-key=namespace, or remove the index"
}
