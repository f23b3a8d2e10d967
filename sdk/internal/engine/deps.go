package engine

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/redact"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// deps are the dependencies that the parts of the engine share. The operator fills them in before
// the first stream starts; they do not change afterwards.
type deps struct {
	client   *kube.Client
	registry *handlers.Registry
	settings *Settings
	logger   *slog.Logger
	now      func() time.Time
	queue    *queue.Queue
	indices  *index.Indices
	failures state.Failures // where permanent failures are recorded on objects
	retries  *retries
	newMemo  func() any // makes the memo of an object; nil if objects have none
	state    *runState
	shards   *ownShards     // nil unless replicas share the objects
	running  *runningCycles // nil unless other replicas may take objects over
	leases   *leaseStats
	graves   graves // the objects that are gone

	sharedState   sync.Map // keys of the resources of objects that another program records its handling on
	hiddenIndices sync.Map // ids of the indices that have had a hidden value of an object

	sink      *observe.Sink      // what happens is told to its subscribers
	recorders *observe.Recorders // of Kubernetes events

	// background is the context of what runs independently of single objects, such as daemons. It
	// ends when the operator has stopped everything else.
	background context.Context
	stopping   <-chan struct{} // closes when the operator is asked to stop
}

// runState is whether the operator handles objects now.
type runState struct {
	paused    atomic.Bool // no object is handled
	wasPaused atomic.Bool // paused since the streams were adjusted last, however shortly

	pause    fence.Guard // drains while paused
	exit     fence.Guard // drains once the operator stops
	election fence.Guard // closed while another replica may lead; open without elections

	records atomic.Pointer[[]*fence.Guard] // one for each record of the operator in a peering object; nil if there are none

	// retryFormer makes objects that failed before the operator started be retried when it finds them.
	retryFormer atomic.Bool
}

// objectLogger returns the logger of an object, whose lines are not posted as Kubernetes events.
func (d *deps) objectLogger(res *resources.Resource, object *object.Object) *slog.Logger {
	return observe.WithoutSecrets(observe.ObjectLogger(d.logger, res, object), d.settings.Redaction.Of(res, object))
}

// recorder returns the recorder of Kubernetes events about an object; nil if none are posted.
func (d *deps) recorder(res *resources.Resource, object *object.Object) *observe.Recorder {
	return d.recorders.For(reference(object)).WithoutSecrets(d.settings.Redaction.Of(res, object))
}

// reference returns a reference to an object, which does not keep its version.
func reference(object *object.Object) observe.ObjectReference {
	return observe.ObjectReference{
		APIVersion: object.APIVersion, Kind: object.Kind, Name: object.Name, UID: object.UID, Namespace: object.Namespace,
	}
}

// subject returns the subject of events about an object. The identity is nil if the operator does not
// remember the object. What is logged is also posted as Kubernetes events if the settings say so.
func (d *deps) subject(identity *observe.Identity, res *resources.Resource, object *object.Object) *observe.Subject {
	s := &observe.Subject{
		Identity: identity, Resource: res, Object: object, Reference: reference(object),
		Logger: d.objectLogger(res, object), Recorder: d.recorder(res, object),
		Secrets: d.settings.Redaction.Of(res, object),
	}
	if d.settings.Posting.Loggers {
		s.Logger = s.Recorder.Logger(s.Logger)
	}
	return s
}

// dropLate logs that an old version of an object is dropped, since the object is gone.
func (d *deps) dropLate(old *object.Object) {
	d.logger.Debug("Dropping what is outdated", observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail,
		"what", old.String(), "reason", "the object is gone")
}

// hidesIndex reports whether the values of an index must not be shown: they are made of Secrets, one of them has contained
// a hidden value of an object, or the settings name the index.
func (d *deps) hidesIndex(id string) bool {
	if _, hidden := d.hiddenIndices.Load(id); hidden {
		return true
	}
	return slices.Contains(d.settings.Redaction.Indices, id) || slices.ContainsFunc(d.registry.All(), func(h *handlers.Handler) bool {
		return h.Family == handlers.Index && h.ID == id && redact.MayBeSecret(&h.Selector)
	})
}

// newIndices makes the indices that the handlers fill.
func newIndices(registry *handlers.Registry) *index.Indices {
	indices := new(index.Indices)
	for _, h := range registry.All() {
		if h.Family == handlers.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	return indices
}
