package storage

import (
	"cmp"

	"github.com/kopf-dev/kopf/sdk/internal/bridge"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// The engine has these storages itself. It finds them here, so that what is stored need
// not be converted to the public types and back.
func init() {
	bridge.BuiltinProgress = func(s any) state.ProgressStorage {
		if own, ok := s.(interface{ engine() state.ProgressStorage }); ok {
			return own.engine()
		}
		return nil
	}
	bridge.BuiltinDiffBase = func(s any) state.DiffBaseStorage {
		if own, ok := s.(interface{ engine() state.DiffBaseStorage }); ok {
			return own.engine()
		}
		return nil
	}
}

func (s AnnotationsProgress) engine() state.ProgressStorage {
	return &state.AnnotationsProgress{
		Prefix:   cmp.Or(s.Prefix, defaultPrefix),
		TouchKey: cmp.Or(s.TouchKey, defaultTouchKey),
		V1:       !s.NoV1,
		Verbose:  s.Verbose,
	}
}

func (s StatusProgress) engine() state.ProgressStorage { return s.status() }

func (s StatusProgress) status() *state.StatusProgress {
	return &state.StatusProgress{
		Field:      fieldOf(s.Field, s.Name, "status.{name}.progress"),
		TouchField: fieldOf(s.TouchField, s.Name, "status.{name}.dummy"),
	}
}

func (s SmartProgress) engine() state.ProgressStorage {
	status := s.Status.status()
	status.ReadOnly = true
	return state.MultiProgress{s.Annotations.engine(), status}
}

func (s MultiProgress) engine() state.ProgressStorage {
	all := make(state.MultiProgress, len(s))
	for i, one := range s {
		all[i] = bridge.Progress(one)
	}
	return all
}

func (s AnnotationsDiffBase) engine() state.DiffBaseStorage {
	return &state.AnnotationsDiffBase{
		Prefix: cmp.Or(s.Prefix, defaultPrefix),
		Key:    cmp.Or(s.Key, defaultKey),
		V1:     !s.NoV1,
	}
}

func (s StatusDiffBase) engine() state.DiffBaseStorage {
	return &state.StatusDiffBase{Field: fieldOf(s.Field, s.Name, "status.{name}."+defaultKey)}
}

func (s MultiDiffBase) engine() state.DiffBaseStorage {
	all := make(state.MultiDiffBase, len(s))
	for i, one := range s {
		all[i] = bridge.DiffBase(one)
	}
	return all
}
