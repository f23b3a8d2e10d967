package kopf

import "github.com/kopf-dev/kopf/sdk/internal/state"

// The conversions of storages, for the tests that use package storage.
var (
	EngineProgress = func(s ProgressStorage) state.ProgressStorage { return engineProgress(s, "") }
	EngineDiffBase = func(s DiffBaseStorage) state.DiffBaseStorage { return engineDiffBase(s, "") }
)
