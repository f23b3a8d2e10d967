package observe

import (
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// ObjectLogger returns a logger whose lines have the identity of an object. It keeps the names of the object but not the
// object itself, because daemons keep their loggers for a long time.
func ObjectLogger(logger *slog.Logger, resource *resources.Resource, obj *object.Object) *slog.Logger {
	namespace, name, uid := obj.Namespace, obj.Name, obj.UID
	return slog.New(WithLazyAttrs(logger.Handler(), func() []slog.Attr {
		return []slog.Attr{slog.Any(ObjectKey, ObjectRef{
			Resource: resource.Key(), APIVersion: resource.APIVersion(), Kind: resource.Kind,
			Namespace: namespace, Name: name, UID: uid,
		})}
	}))
}
