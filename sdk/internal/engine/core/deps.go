// Package core holds the state that all parts of the engine share: dependencies, settings, served resources with their
// handlers, shards, and tombstones of deleted objects.
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

// Deps are the dependencies that the parts of the engine share. They do not change after the start of the first stream.
type Deps struct {
	Client   *kube.Client
	Registry *handlers.Registry
	Settings *Settings
	Logger   *slog.Logger
	Now      func() time.Time
	Queue    *queue.Queue
	Indices  *index.Indices
	Failures state.Failures // storage of permanent failures on objects
	Retries  *retries
	NewMemo  func() any // constructor of an object's memo; nil if objects have no memos
	State    *RunState
	Shards   *ownShards     // nil unless replicas share the objects
	Running  *RunningCycles // nil unless other replicas may take objects over
	Leases   *LeaseStats
	Graves   graves     // tombstones of deleted objects
	Limits   CallLimits // nil unless the calls of a handler are limited

	// Forget drops the pass, the conditions and the limits of an object that was deleted, or that this replica no longer handles.
	Forget func(key queue.Key)

	Known atomic.Pointer[[]resources.Resource] // resources of the cluster; nil before the first stream starts

	SharedState   sync.Map // keys of resources whose last-handled states another program changes; each is warned about once
	HiddenIndices sync.Map // ids of indices that received a hidden value of an object

	Sink      *observe.Sink      // publishes the engine's events to the subscribers
	Recorders *observe.Recorders // record Kubernetes events

	// Background is the context of work that is independent of single objects. It ends after everything else.
	Background context.Context
}

// RunState holds the conditions under which the operator handles objects.
type RunState struct {
	Paused atomic.Bool  // set while the operator handles no object
	Pauses atomic.Int64 // grows with each pause, however brief

	Pause    fence.Guard // drains while paused
	Exit     fence.Guard // drains once the operator stops
	Election fence.Guard // closed while another replica may lead; open without elections

	Records atomic.Pointer[[]*fence.Guard] // guards of the operator's peering records; nil if there are none

	RetryFormer atomic.Bool // retries objects that failed permanently before the operator started, when the streams list them
}

// ObjectLogger returns the logger of an object, whose lines are not posted as Kubernetes events.
func (d *Deps) ObjectLogger(res *resources.Resource, object *object.Object) *slog.Logger {
	return observe.WithoutSecrets(observe.ObjectLogger(d.Logger, res, object), d.Settings.Redaction.Of(res, object))
}

// Reference returns a reference to an object without its resourceVersion.
func Reference(object *object.Object) observe.ObjectReference {
	return observe.ObjectReference{
		APIVersion: object.APIVersion, Kind: object.Kind, Name: object.Name, UID: object.UID, Namespace: object.Namespace,
	}
}

// Subject returns the subject of events about an object; the identity of an object that the operator does not remember is nil. If
// Posting.Loggers is set, the subject's logger also posts its lines as Kubernetes events.
func (d *Deps) Subject(identity *observe.Identity, res *resources.Resource, object *object.Object) *observe.Subject {
	s := d.UnpostedSubject(identity, res, object)
	if d.Settings.Posting.Loggers {
		s.Logger = s.Recorder.Logger(s.Logger)
	}
	return s
}

// UnpostedSubject is [Deps.Subject] with a logger that posts no Kubernetes events.
func (d *Deps) UnpostedSubject(identity *observe.Identity, res *resources.Resource, object *object.Object) *observe.Subject {
	secrets, reference := d.Settings.Redaction.Of(res, object), Reference(object)
	return &observe.Subject{
		Identity: identity, Resource: res, Object: object, Reference: reference, Secrets: secrets,
		Logger: observe.WithoutSecrets(observe.ObjectLogger(d.Logger, res, object), secrets), Recorder: d.Recorders.For(reference).WithoutSecrets(secrets),
	}
}

// DropLate logs that the operator drops an old version of a deleted object.
func (d *Deps) DropLate(old *object.Object) {
	d.Logger.Debug("Dropping an outdated event", observe.NameKey, "kopf.watching", observe.EventKey, observe.LogStreamDetail,
		"what", old.String(), "reason", "the object was deleted")
}

// NewestVersion reads the newest version of an object. If the object does not exist, it records a tombstone and returns nil. It lists instead of
// gets, because operators need no permission to get objects.
func (d *Deps) NewestVersion(ctx context.Context, res *resources.Resource, namespace, name, uid string) (*object.Object, error) {
	list, err := d.Client.List(ctx, res, namespace, kube.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list.Items, func(o *object.Object) bool { return o.UID == uid })
	if i < 0 {
		d.Graves.Bury(res.Key(), uid, list.ResourceVersion)
		return nil, nil
	}
	return list.Items[i], nil
}

// HidesIndex reports whether the values of an index must not be shown: it may select Secrets, it has hidden values, or the settings list it.
func (d *Deps) HidesIndex(id string) bool {
	if _, hidden := d.HiddenIndices.Load(id); hidden {
		return true
	}
	return slices.Contains(d.Settings.Redaction.Indices, id) || slices.ContainsFunc(d.Registry.All(), func(h *handlers.Handler) bool {
		return h.Family == handlers.Index && h.ID == id && redact.MayBeSecret(&h.Selector)
	})
}

// NewIndices creates the indices of all indexing handlers.
func NewIndices(registry *handlers.Registry) *index.Indices {
	indices := new(index.Indices)
	for _, h := range registry.All() {
		if h.Family == handlers.Index {
			indices.Ensure(h.ID, h.NewIndex)
		}
	}
	return indices
}
