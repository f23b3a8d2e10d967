// Package core has the parts that all of an operator share: the dependencies, the settings, the served resources with
// their handlers, the shards, and the deleted objects.
package core

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

// Deps are the dependencies that the parts of the engine share. The operator fills them in before
// the first stream starts; they do not change afterwards.
type Deps struct {
	Client   *kube.Client
	Registry *handlers.Registry
	Settings *Settings
	Logger   *slog.Logger
	Now      func() time.Time
	Queue    *queue.Queue
	Indices  *index.Indices
	Failures state.Failures // where permanent failures are recorded on objects
	Retries  *retries
	NewMemo  func() any // makes the memo of an object; nil if objects have none
	State    *RunState
	Shards   *ownShards     // nil unless replicas share the objects
	Running  *RunningCycles // nil unless other replicas may take objects over
	Leases   *LeaseStats
	Graves   graves // the objects that are gone

	SharedState   sync.Map // keys of the resources of objects that another program records its handling on
	HiddenIndices sync.Map // ids of the indices that have had a hidden value of an object

	Sink      *observe.Sink      // what happens is told to its subscribers
	Recorders *observe.Recorders // of Kubernetes events

	// Background is the context of what runs independently of single objects, such as daemons. It
	// ends when the operator has stopped everything else.
	Background context.Context
	Stopping   <-chan struct{} // closes when the operator is asked to stop
}

// RunState is whether the operator handles objects now.
type RunState struct {
	Paused    atomic.Bool // no object is handled
	WasPaused atomic.Bool // paused since the streams were adjusted last, however shortly

	Pause    fence.Guard // drains while paused
	Exit     fence.Guard // drains once the operator stops
	Election fence.Guard // closed while another replica may lead; open without elections

	Records atomic.Pointer[[]*fence.Guard] // one for each record of the operator in a peering object; nil if there are none

	// RetryFormer makes objects that failed before the operator started be retried when it finds them.
	RetryFormer atomic.Bool
}

// ObjectLogger returns the logger of an object, whose lines are not posted as Kubernetes events.
func (d *Deps) ObjectLogger(res *resources.Resource, object *object.Object) *slog.Logger {
	return observe.WithoutSecrets(observe.ObjectLogger(d.Logger, res, object), d.Settings.Redaction.Of(res, object))
}

// Recorder returns the recorder of Kubernetes events about an object; nil if none are posted.
func (d *Deps) Recorder(res *resources.Resource, object *object.Object) *observe.Recorder {
	return d.Recorders.For(Reference(object)).WithoutSecrets(d.Settings.Redaction.Of(res, object))
}

// Reference returns a reference to an object, which does not keep its version.
func Reference(object *object.Object) observe.ObjectReference {
	return observe.ObjectReference{
		APIVersion: object.APIVersion, Kind: object.Kind, Name: object.Name, UID: object.UID, Namespace: object.Namespace,
	}
}

// Subject returns the subject of events about an object. The identity is nil if the operator does not
// remember the object. What is logged is also posted as Kubernetes events if the settings say so.
func (d *Deps) Subject(identity *observe.Identity, res *resources.Resource, object *object.Object) *observe.Subject {
	s := &observe.Subject{
		Identity: identity, Resource: res, Object: object, Reference: Reference(object),
		Logger: d.ObjectLogger(res, object), Recorder: d.Recorder(res, object),
		Secrets: d.Settings.Redaction.Of(res, object),
	}
	if d.Settings.Posting.Loggers {
		s.Logger = s.Recorder.Logger(s.Logger)
	}
	return s
}

// DropLate logs that an old version of an object is dropped, since the object is gone.
func (d *Deps) DropLate(old *object.Object) {
	d.Logger.Debug("Dropping what is outdated", observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail,
		"what", old.String(), "reason", "the object is gone")
}

// HidesIndex reports whether the values of an index must not be shown: they are made of Secrets, one of them has contained
// a hidden value of an object, or the settings name the index.
func (d *Deps) HidesIndex(id string) bool {
	if _, hidden := d.HiddenIndices.Load(id); hidden {
		return true
	}
	return slices.Contains(d.Settings.Redaction.Indices, id) || slices.ContainsFunc(d.Registry.All(), func(h *handlers.Handler) bool {
		return h.Family == handlers.Index && h.ID == id && redact.MayBeSecret(&h.Selector)
	})
}

// NewIndices makes the indices that the handlers fill.
func NewIndices(registry *handlers.Registry) *index.Indices {
	indices := new(index.Indices)
	for _, h := range registry.All() {
		if h.Family == handlers.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	return indices
}
