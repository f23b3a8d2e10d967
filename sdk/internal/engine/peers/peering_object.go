package peers

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/peering"
)

// Delays of the requests about peering.
const (
	peeringRetry    = time.Second      // between attempts that fail
	peeringRetryMax = 5 * time.Second  // to which that grows
	peeringGrace    = 10 * time.Second // for peers to renew their records when the API server is back
	PeeringLeave    = 3 * time.Second  // limits the attempts to remove the operator's record
)

// peeringObject is one peering object that the operator takes part in. One goroutine reads it, another one
// writes to it; each calls decide. Times are those of the wall clock, which other operators have too.
type peeringObject struct {
	deps      *core.Deps
	settings  *core.Peering
	client    *kube.Client // without retries: a record has the time at which it is sent
	resource  *resources.Resource
	namespace string
	verdict   peeringVerdict // guarded by mu
	place     *peeringPlace
	ctx       context.Context // ends when the operator leaves
	stop      context.CancelFunc
	handOver  func() bool   // whether the record stays; nil if it never does
	left      chan struct{} // closes when the operator does not take part anymore
	work      core.Wakeup   // raised when there is something to write

	mu        sync.Mutex
	own       ownRecord
	tenure    tenure
	listed    bool           // it is known whether the object exists
	forbidden error          // why it cannot be read; nil if it can
	newest    *object.Object // nil if it does not exist
	status    map[string]any
	observer  peering.Observer
	peers     []peering.Peer
	dead      []string    // identities whose records should be removed
	lost      bool        // the API server did not answer the last request
	grace     time.Time   // until when no peer is taken for dead
	alarm     *time.Timer // decides again when a record may have expired
	unwritten bool        // a warning was logged that the record cannot be written
}

func newPeeringObject(d *core.Deps, p *Pauses, identity string, res *resources.Resource, namespace string, newTerm func()) *peeringObject {
	o := &peeringObject{
		deps: d, settings: &d.Settings.Peering, client: d.Client.WithoutRetries(), resource: res, namespace: namespace,
		work: core.NewWakeup(), left: make(chan struct{}),
		own: ownRecord{identity: identity, joined: time.Now(), lifetime: d.Settings.Peering.Lifetime},
	}
	o.verdict = peeringVerdict{
		pauses: p, logger: d.Logger.With(observe.NameKey, "kopf.peering"),
		key: PauseKey{Kind: inspect.PausePeering, name: o.String()},
	}
	o.tenure = tenure{
		pauses: p, key: PauseKey{Kind: inspect.PausePeering, name: "record in " + o.String()}, newTerm: newTerm,
		logger: o.verdict.logger, object: o.String(), lifetime: max(time.Second, o.settings.Lifetime.Truncate(time.Second)),
	}
	return o
}

// String names the object in texts.
func (o *peeringObject) String() string {
	return (&inspect.Peering{Kind: peering.Kind(o.resource.Namespaced), Group: o.resource.Group, Namespace: o.namespace, Name: o.settings.Name}).String()
}

// record returns the operator's record of this moment.
func (o *peeringObject) record() *peering.Peer {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.own.peer(o.settings.Priority, o.verdict.pause, time.Now())
}

// isFutile reports whether the same request fails again.
func isFutile(err error) bool {
	switch kube.Classify(err) {
	case kube.NotFound, kube.Forbidden, kube.Invalid, kube.Rejected:
		return true
	}
	return false
}

// write writes records into the object; those with no lifetime are removed. If there is a version, it must
// be that of the object.
func (o *peeringObject) write(ctx context.Context, version string, peers map[string]*peering.Peer) (*object.Object, error) {
	records := map[string]any{}
	for identity, peer := range peers {
		if record := peer.Record(); record != nil {
			records[identity] = record
		} else {
			records[identity] = nil
		}
	}
	changes := map[string]any{"status": records}
	if version != "" {
		changes["metadata"] = map[string]any{"resourceVersion": version}
	}
	return o.patch(ctx, patch.MergeType, changes)
}

// patch patches the object, or its status if that is a subresource.
func (o *peeringObject) patch(ctx context.Context, contentType string, changes any) (*object.Object, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(PeeringLeave, o.settings.Lifetime/6)) // there is time for another one then
	defer cancel()
	subresource := ""
	if o.resource.HasSubresource("status") {
		subresource = "status"
	}
	return o.client.Patch(ctx, o.resource, o.namespace, o.settings.Name, subresource, contentType, body)
}

// leaveRecord leaves the operator's record to another process.
func (o *peeringObject) leaveRecord(ctx context.Context, record *peering.Peer) {
	if _, err := o.write(ctx, "", map[string]*peering.Peer{record.Identity: record}); err != nil {
		o.tellKeepAlive(err)
	}
}

// removeRecord removes the operator's record, unless another replica has written it meanwhile.
func (o *peeringObject) removeRecord(ctx context.Context) {
	for {
		_, err := o.patch(ctx, patch.JSONType, o.own.removal())
		if err == nil || isFutile(err) {
			return
		}
		if core.Sleep(ctx, peeringRetry/2) != nil {
			o.verdict.logger.Warn("Cannot leave "+o.String()+": other operators resume when the record expires",
				observe.EventKey, observe.LogPeeringUnwritten, "in", o.settings.Lifetime.String(), "error", err)
			return
		}
	}
}

func (o *peeringObject) group() string { return o.resource.Group }

// inspected returns what is known. The lock must be held.
func (o *peeringObject) inspected(now time.Time) inspect.Peering {
	told := inspect.Peering{
		Kind: peering.Kind(o.resource.Namespaced), Group: o.resource.Group, Namespace: o.namespace, Name: o.settings.Name, Exists: o.newest != nil,
	}
	for i := range o.peers {
		p := &o.peers[i]
		if p.IsDead(now) {
			continue
		}
		one := inspect.Peer{
			Identity: p.Identity, Self: p.Identity == o.own.identity, Priority: p.Priority, State: inspect.PeerPaused,
			Message: p.Message, Since: p.Since, LastSeen: p.LastSeen, Until: p.Deadline,
		}
		if peering.IsActive(p, o.peers, now) {
			one.State = inspect.PeerActive
		}
		if p.Pause != nil {
			one.PausedSince, one.PausedBy = p.Pause.Since, slices.Clone(p.Pause.By)
		}
		told.Peers = append(told.Peers, one)
	}
	return told
}

// tellKeepAlive logs how the operator's record was written.
func (o *peeringObject) tellKeepAlive(err error) {
	where := "cluster-wide"
	if o.namespace != "" {
		where = "in '" + o.namespace + "'"
	}
	result := "ok"
	switch {
	case err == nil:
		o.unwritten = false
		if o.settings.Stealth {
			return
		}
	case kube.Classify(err) == kube.NotFound:
		result = "not found"
	default:
		if !o.unwritten {
			o.unwritten = true
			level := slog.LevelWarn
			if !o.place.isPreferred(o) {
				level = slog.LevelInfo // the operators usually meet in the other one
			}
			o.verdict.logger.Log(context.Background(), level, "Cannot write the record of this operator into "+o.String()+": others may act beside it. If it is forbidden, permit to patch "+o.resource.Plural,
				observe.EventKey, observe.LogPeeringUnwritten, "error", err)
		}
		return
	}
	o.verdict.logger.Debug("Keep-alive in '"+o.settings.Name+"' "+where+": "+result+".", observe.EventKey, observe.LogPeeringKeepAlive)
}
