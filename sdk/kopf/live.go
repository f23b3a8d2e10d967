package kopf

import (
	"errors"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// daemonRunOf makes the request of a daemon. It fails if the object does not decode.
func daemonRunOf[T any](call *handlers.Call) (*DaemonRun[T], error) {
	var d *DaemonRun[T]
	err := daemons.Aside(func() error {
		r, task := requestOf(call.Cause, call), call.Extra.(engine.Task)
		d = &DaemonRun[T]{
			Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			Memo: r.Memo, Logger: r.Logger, Recorder: r.Recorder, Param: r.Param, Attempt: attemptOf(call),
		}
		d.attach(task.Task, call.Patch, task.Apply)
		if untyped[T]() {
			return nil // everything fits
		}
		_, err := d.last.of(d.task)
		return err
	})
	return d, err
}

// untyped tells whether T is [Object], for which nothing has to be decoded.
func untyped[T any]() bool {
	_, is := any((*T)(nil)).(*Object)
	return is
}

// lastGood is the newest version of an object that decodes into T. It is kept as text: to
// decode it again takes less than to keep thousands of decoded objects that nobody looks at.
type lastGood[T any] struct {
	mu    sync.Mutex
	tried weak.Pointer[object.Object] // the last version that was looked at
	good  *object.Object
}

// of returns the newest version that decodes, and why there is a newer one that does not:
// once for each version.
func (l *lastGood[T]) of(task bridge.Task) (*T, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if task == nil {
		return nil, nil
	}
	live := task.Live()
	var failure error
	if version := weak.Make(live); l.tried != version {
		l.tried = version
		var object *T
		if object, failure = viewAs[T](task, live); failure == nil {
			l.good = live
			return object, nil
		}
	}
	if l.good == nil {
		return nil, failure
	}
	object, err := viewAs[T](task, l.good)
	return object, errors.Join(failure, err)
}

// viewAs returns a version of the object as a T, the same one to all daemons of the object.
func viewAs[T any](task bridge.Task, version *object.Object) (*T, error) {
	return daemons.View(task.Views(), version, func(version *object.Object) (view *T, err error) {
		// It has a tree of its own, which is forgotten with it.
		body := &Object{wire: version.Detached(), aside: true}
		if object, ok := any(body).(*T); ok {
			return object, nil
		}
		err = daemons.Aside(func() error {
			view, err = decodeAs[T](body)
			return err
		})
		return view, err
	})
}

// liveBody returns the newest version.
func liveBody(task bridge.Task) *Object {
	body, _ := viewAs[Object](task, task.Live()) //nolint:errcheck // it is decoded later
	return body
}
