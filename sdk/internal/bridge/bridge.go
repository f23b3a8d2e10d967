// Package bridge connects package kopf with its sub-packages without exporting the connection: Go has no friend
// packages. Package kopf sets the variables when it is initialised; nothing changes them afterwards.
package bridge

import (
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// Progress is a kopf.ProgressStorage with a form for the engine, which needs no adapter.
type Progress interface {
	// Engine returns the form for the engine. The function converts a kopf.ProgressStorage that is a part of it.
	Engine(convert func(kopfStorage any) state.ProgressStorage) state.ProgressStorage
}

// DiffBase is a kopf.DiffBaseStorage with a form for the engine, which needs no adapter.
type DiffBase interface {
	// Engine returns the form for the engine. The function converts a kopf.DiffBaseStorage that is a part of it.
	Engine(convert func(kopfStorage any) state.DiffBaseStorage) state.DiffBaseStorage
}

// PatchOf returns the engine's form of a *kopf.Patch; for a nil patch, one that is discarded.
var PatchOf func(kopfPatch any) *patch.Patch

// AddError adds a registration error to a *kopf.Registry. The file and the line are the place of the registration, and the
// registrar is the name of the called function. A nil registry drops the error.
var AddError func(kopfRegistry any, file string, line int, registrar string, problem error)
