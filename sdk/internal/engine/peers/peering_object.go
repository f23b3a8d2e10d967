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

// Delays of peering requests.
const (
	peeringRetry    = time.Second      // initial delay between failing attempts
	peeringRetryMax = 5 * time.Second  // maximum delay between failing attempts
	peeringGrace    = 10 * time.Second // time for peers to renew their records when the API server is back
	PeeringLeave    = 3 * time.Second  // limit for the attempts to remove the operator's record
)

// peeringPlace is a namespace or the cluster, with one peering object in each API group of peering. Operators see each
// other in every object that exists; one is enough. The lock also guards the objects.
type peeringPlace struct {
	sync.Mutex
	objects map[*peeringObject]bool
}

// decideAbsent pauses or resumes the operator because of absent objects, once the existence of all objects is known. If
// all are absent, only the preferred one is missing; otherwise none is. The lock must be held.
func (p *peeringPlace) decideAbsent() {
	exists := false
	for o := range p.objects {
		if o.newest == nil && !o.listed && o.forbidden == nil {
			return
		}
		exists = exists || o.newest != nil
	}
	for o := range p.objects {
		if o.newest == nil && o.ctx.Err() == nil {
			missing := !exists && o.isPreferred()
			o.verdict.absent(missing, o.forbidden)
			observe.Emit(o.deps.Sink, observe.PeersChanged{Peering: o.inspected(time.Now()), Left: !missing})
		}
	}
}

// peeringObject is one peering object in which the operator participates. One goroutine reads the object, and another
// one writes to it; both call decide. Times use the wall clock, because other operators compare them.
type peeringObject struct {
	deps     *core.Deps
	settings *core.Peering
	client   *kube.Client // client without retries, because a retried request would have an outdated time
	resource *resources.Resource
	name     inspect.Peering // the object without its peers
	place    *peeringPlace
	ctx      context.Context // ends when the operator leaves
	stop     context.CancelFunc
	handOver func() bool   // reports whether to keep the record for the next process; nil means never
	left     chan struct{} // closed when the operator has left
	work     core.Wakeup   // raised when a record must be written or removed

	// The lock of the place guards the other fields.

	own       ownRecord
	verdict   peeringVerdict
	tenure    tenure
	listed    bool           // set when the existence of the object is known
	forbidden error          // error of the last attempt to read the object; nil if it can be read
	newest    *object.Object // nil if the object does not exist
	status    map[string]any
	observer  peering.Observer
	peers     []peering.Peer
	dead      []*peering.Peer // identities of dead peers whose records must be removed
	lost      bool            // the API server did not respond to the last request
	grace     time.Time       // end of the time in which no peer is regarded as dead
	alarm     *time.Timer     // raises work when a peer's record may have expired
	unwritten bool            // a warning about failing writes was logged
}

// isPreferred reports whether the object is in the preferred API group. The lock must be held.
func (o *peeringObject) isPreferred() bool {
	for other := range o.place.objects {
		if other.resource.Group < o.resource.Group {
			return false
		}
	}
	return true
}

func (o *peeringObject) record() *peering.Peer {
	o.place.Lock()
	defer o.place.Unlock()
	return o.own.peer(o.settings.Priority, o.verdict.pause, time.Now())
}

// isFutile reports whether a retry of the request would fail again.
func isFutile(err error) bool {
	switch kube.Classify(err) {
	case kube.NotFound, kube.Forbidden, kube.Invalid, kube.Rejected:
		return true
	}
	return false
}

// write writes records into the object or its status subresource, and removes records without a lifetime. If the version
// is not empty, the object must have this version.
func (o *peeringObject) write(ctx context.Context, version string, peers ...*peering.Peer) (*object.Object, error) {
	records := map[string]any{}
	for _, peer := range peers {
		records[peer.Identity] = peer.Record()
	}
	changes := map[string]any{"status": records}
	if version != "" {
		changes["metadata"] = map[string]any{"resourceVersion": version}
	}
	return o.patch(ctx, patch.MergeType, changes)
}

func (o *peeringObject) patch(ctx context.Context, contentType string, changes any) (*object.Object, error) {
	body, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(PeeringLeave, o.settings.Lifetime/6)) // leaves time for a second request
	defer cancel()
	subresource := ""
	if o.resource.HasSubresource("status") {
		subresource = "status"
	}
	return o.client.Patch(ctx, o.resource, o.name.Namespace, o.name.Name, subresource, contentType, body)
}

// removeRecord removes the operator's record, unless another replica overwrote it.
func (o *peeringObject) removeRecord(ctx context.Context) {
	for {
		_, err := o.patch(ctx, patch.JSONType, o.own.removal())
		if err == nil || isFutile(err) {
			return
		}
		if core.Sleep(ctx, peeringRetry/2) != nil {
			o.verdict.logger.Warn("Cannot leave "+o.name.String()+": other operators resume when the record expires",
				observe.EventKey, observe.LogPeeringUnwritten, "in", o.settings.Lifetime.String(), "error", err)
			return
		}
	}
}

// inspected returns the peering object for the inspector. The lock must be held.
func (o *peeringObject) inspected(now time.Time) inspect.Peering {
	told := o.name
	told.Exists = o.newest != nil
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

// logKeepAlive logs the result of writing the operator's record. The lock must be held.
func (o *peeringObject) logKeepAlive(err error) {
	where := "cluster-wide"
	if o.name.Namespace != "" {
		where = "in '" + o.name.Namespace + "'"
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
	case o.unwritten:
		return
	default:
		o.unwritten = true
		level := slog.LevelWarn
		if !o.isPreferred() {
			level = slog.LevelInfo // the operators usually use the object in the preferred API group
		}
		o.verdict.logger.Log(context.Background(), level, "Cannot write the record of this operator into "+o.name.String()+
			": others may act beside it. If it is forbidden, permit to patch "+o.resource.Plural, observe.EventKey, observe.LogPeeringUnwritten, "error", err)
		return
	}
	o.verdict.logger.Debug("Keep-alive in '"+o.settings.Name+"' "+where+": "+result+".", observe.EventKey, observe.LogPeeringKeepAlive)
}
