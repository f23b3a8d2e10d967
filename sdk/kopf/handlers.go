package kopf

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// OnCreate registers a handler that is called once for each new object. See [Handlers] for all
// kinds of handlers.
//
// [Handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md
func OnCreate[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...CreateOption) {
	add(r, handlers.Create, resource, fn, callChange(fn), applyAll(opts, CreateOption.create))
}

// OnUpdate registers a handler that is called when an object's essence has changed. With the [Field] option, it is
// called only when that field has changed; see also [OnField]. [Causes] defines the essence.
//
// [Causes]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#causes
func OnUpdate[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...UpdateOption) {
	add(r, handlers.Update, resource, fn, callChange(fn), applyAll(opts, UpdateOption.update))
}

// OnDelete registers a handler that is called when an object is marked for deletion. The object stays in the cluster
// until its deletion handlers are done, except handlers with the option [WithoutFinalizer].
func OnDelete[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...DeleteOption) {
	add(r, handlers.Delete, resource, fn, callChange(fn), applyAll(opts, DeleteOption.delete))
}

// OnResume registers a handler that is called once in each run of the operator for each object that existed before the
// operator started. Register a function with both OnCreate and OnResume if it must be called for all objects. See
// [Resuming].
//
// [Resuming]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#resuming
func OnResume[T any](r *Registry, resource Selector, fn func(context.Context, *Change[T]) error, opts ...ResumeOption) {
	add(r, handlers.Resume, resource, fn, callChange(fn), applyAll(opts, ResumeOption.resume))
}

// OnField registers a handler that is called when one field differs from its last-handled value, including when the whole
// object is created or deleted. The [Reasons] option limits the handler to some reasons. A path that is malformed or
// empty, or leads into a list, is a registration error. See [Fields].
//
// [Fields]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#fields
func OnField[F any](r *Registry, resource Selector, field Path, fn func(context.Context, *FieldChange[F]) error, opts ...FieldOption) {
	path, err := field.fixed()
	c := applyAll(opts, FieldOption.field)
	c.fieldOf(field, path, err)
	add(r, handlers.Field, resource, fn, callField(fn, path), c)
}

// OnEvent registers a handler that is called for every event of the watch, including the
// initial listing. Nothing is stored on the object; errors are logged and not retried. See
// [Watch events].
//
// [Watch events]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#watch-events
func OnEvent[T any](r *Registry, resource Selector, fn func(context.Context, *Event[T]) error, opts ...EventOption) {
	add(r, handlers.Event, resource, fn, callEvent(fn), applyAll(opts, EventOption.event))
}
