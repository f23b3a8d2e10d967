package engine

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
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
	newMemo  func() any // makes the memo of an object; nil if objects have none
	state    *runState

	// background is the context of what runs independently of single objects, such as daemons. It
	// ends when the operator has stopped everything else.
	background context.Context
	stopping   <-chan struct{} // closes when the operator is asked to stop

	sink      *observe.Sink
	recorders *observe.Recorders

	reporter *reporter       // nil without an inspector
	meters   *meters         // nil without a meter
	poster   *observe.Poster // nil if no Kubernetes events are posted
}

// runState is whether the operator handles objects now.
type runState struct {
	paused    atomic.Bool // no object is handled
	wasPaused atomic.Bool // paused since the streams were adjusted last, however shortly
	exiting   atomic.Bool // no daemon or timer may start
}

// subject returns the subject of events about an object. The identity is nil if the operator does not
// remember the object.
func (d *deps) subject(identity *observe.Identity, res *resources.Resource, obj *object.Object) *observe.Subject {
	recorder := d.recorders.For(observe.ObjectReference{
		APIVersion: obj.APIVersion, Kind: obj.Kind, Name: obj.Name, UID: obj.UID, Namespace: obj.Namespace,
	})
	logger := d.objectLogger(res, obj)
	if d.settings.Posting.Loggers {
		logger = recorder.Logger(logger)
	}
	return &observe.Subject{Identity: identity, Resource: res, Object: obj, Logger: logger, Recorder: recorder}
}

// objectLogger returns the logger of an object. It keeps the names of the object rather than the
// object, since daemons keep their loggers for long.
func (d *deps) objectLogger(res *resources.Resource, object *object.Object) *slog.Logger {
	namespace, name, uid := object.Namespace, object.Name, object.UID
	return slog.New(observe.WithLazyAttrs(d.logger.Handler(), func() []slog.Attr {
		return []slog.Attr{slog.Any(observe.ObjectKey, observe.ObjectRef{
			Resource: res.Key(), APIVersion: res.APIVersion(), Kind: res.Kind,
			Namespace: namespace, Name: name, UID: uid,
		})}
	}))
}

// objectSinks returns the logger and the recorder of an object. What is logged is posted too, if the
// settings say so.
func (d *deps) objectSinks(res *resources.Resource, object *object.Object) (*slog.Logger, *Recorder) {
	logger, recorder := d.objectLogger(res, object), d.recorder(object)
	if recorder != nil && d.settings.Posting.Loggers {
		logger = recorder.recording(logger)
	}
	return logger, recorder
}
