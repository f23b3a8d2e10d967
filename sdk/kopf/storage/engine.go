package storage

import (
	"cmp"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/diffbase"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
)

// The engine has these storages itself. It finds them here, so that what is stored need
// not be converted to the public types and back.
func init() {
	bridge.BuiltinProgress = func(s any) progress.Storage {
		if own, ok := s.(interface{ engine() progress.Storage }); ok {
			return own.engine()
		}
		return nil
	}
	bridge.BuiltinDiffBase = func(s any) diffbase.Storage {
		if own, ok := s.(interface{ engine() diffbase.Storage }); ok {
			return own.engine()
		}
		return nil
	}
}

func (s AnnotationsProgress) engine() progress.Storage {
	return &progress.Annotations{
		Prefix:   cmp.Or(s.Prefix, defaultPrefix),
		TouchKey: cmp.Or(s.TouchKey, defaultTouchKey),
		V1:       !s.NoV1,
		Verbose:  s.Verbose,
	}
}

func (s StatusProgress) engine() progress.Storage { return s.status() }

func (s StatusProgress) status() *progress.Status {
	return &progress.Status{
		Field:      fieldOf(s.Field, s.Name, "status.{name}.progress"),
		TouchField: fieldOf(s.TouchField, s.Name, "status.{name}.dummy"),
	}
}

func (s SmartProgress) engine() progress.Storage {
	status := s.Status.status()
	status.ReadOnly = true
	return progress.Multi{s.Annotations.engine(), status}
}

func (s MultiProgress) engine() progress.Storage {
	all := make(progress.Multi, len(s))
	for i, one := range s {
		all[i] = bridge.Progress(one)
	}
	return all
}

func (s AnnotationsDiffBase) engine() diffbase.Storage {
	return &diffbase.Annotations{
		Prefix: cmp.Or(s.Prefix, defaultPrefix),
		Key:    cmp.Or(s.Key, defaultKey),
		V1:     !s.NoV1,
	}
}

func (s StatusDiffBase) engine() diffbase.Storage {
	return &diffbase.Status{Field: fieldOf(s.Field, s.Name, "status.{name}."+defaultKey)}
}

func (s MultiDiffBase) engine() diffbase.Storage {
	all := make(diffbase.Multi, len(s))
	for i, one := range s {
		all[i] = bridge.DiffBase(one)
	}
	return all
}
