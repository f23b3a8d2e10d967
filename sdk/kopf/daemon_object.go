package kopf

import (
	"errors"
	"sync"
	"weak"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/cycle"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
)

// daemonRunOf returns the request of a daemon, or an error if the object does not decode.
func daemonRunOf[T any](call *handlers.Call) (*DaemonRun[T], error) {
	var d *DaemonRun[T]
	err := daemons.OnNewStack(func() error {
		r, task := requestOf(call.Cause, call), call.Extra.(cycle.Task)
		d = &DaemonRun[T]{
			Resource: r.Resource, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
			Memo: r.Memo, Logger: r.Logger, Recorder: r.Recorder, Param: r.Param, Attempt: attemptOf(call),
		}
		d.attach(task.Task, call.Patch, task.Apply)
		if untyped[T]() {
			return nil // all fields decode
		}
		_, err := d.last.of(d.task)
		return err
	})
	return d, err
}

// untyped reports whether T is [Object], which needs no decoding.
func untyped[T any]() bool {
	_, is := any((*T)(nil)).(*Object)
	return is
}

// lastGood is the newest version of an object that decodes into T. It is kept as JSON, because decoding it again costs
// less than keeping thousands of decoded objects in memory.
type lastGood[T any] struct {
	mu    sync.Mutex
	tried weak.Pointer[object.Object] // the last version that was decoded
	good  *object.Object
}

// of returns the newest version that decodes. If a newer version does not decode, it also returns the error, once for each
// version.
func (l *lastGood[T]) of(task testhooks.Task) (*T, error) {
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

// viewAs returns a version of the object as a T, which all daemons of the object share.
func viewAs[T any](task testhooks.Task, version *object.Object) (*T, error) {
	return daemons.View(task.Views(), version, func(version *object.Object) (view *T, err error) {
		// The version does not keep the detached tree, so the tree is freed together with the view.
		body := &Object{wire: version.Detached(), aside: true}
		if object, ok := any(body).(*T); ok {
			return object, nil
		}
		err = daemons.OnNewStack(func() error {
			view, err = decodeAs[T](body)
			return err
		})
		return view, err
	})
}

// liveBody returns the newest version of the task's object.
func liveBody(task testhooks.Task) *Object {
	body, _ := viewAs[Object](task, task.Live()) //nolint:errcheck // an Object decodes later
	return body
}
