package kopf

// The conversions of storages, for the tests that use package storage.
var (
	EngineProgress = engineProgress
	EngineDiffBase = engineDiffBase
)
