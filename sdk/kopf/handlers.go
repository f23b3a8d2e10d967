package kopf

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// OnCreate registers a handler of new objects. See the chapter "Handlers" of Kopf's
// documentation for this and the other functions here.
func OnCreate[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...CreateOption) {
	add(r, handlers.Create, resource, fn, callChange(fn), applyAll(opts, CreateOption.create))
}

// OnUpdate registers a handler of changed objects. With the [Field] option it is
// called only when that field is affected; see also [OnField].
func OnUpdate[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...UpdateOption) {
	add(r, handlers.Update, resource, fn, callChange(fn), applyAll(opts, UpdateOption.update))
}

// OnDelete registers a handler of objects marked for deletion. Objects stay until
// their deletion handlers are done, unless the handler is [Optional].
func OnDelete[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...DeleteOption) {
	add(r, handlers.Delete, resource, fn, callChange(fn), applyAll(opts, DeleteOption.delete))
}

// OnResume registers a handler of objects that existed before the operator
// started: it is called once for each. Register one function with both OnCreate
// and OnResume to have it called for all objects.
func OnResume[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...ResumeOption) {
	add(r, handlers.Resume, resource, fn, callChange(fn), applyAll(opts, ResumeOption.resume))
}

// OnField registers a handler of one field, called when the field is added, changed
// or removed, be it with the object or in it.
func OnField[F any](r *Registry, resource Selector, field string, fn func(context.Context, *FieldChange[F]) error, opts ...UpdateOption) {
	path, err := object.ParsePath(field)
	c := applyAll(opts, UpdateOption.update)
	c.fieldOf(field, path, err)
	add(r, handlers.Field, resource, fn, callField(fn, path), c)
}

// OnEvent registers a handler of all events of the watch, the initial listing
// included. Nothing is stored on the object; errors are logged and forgotten.
func OnEvent[T any](r *Registry, resource Selector, fn func(context.Context, *Event[T]) error, opts ...EventOption) {
	add(r, handlers.Event, resource, fn, callEvent(fn), applyAll(opts, EventOption.event))
}
