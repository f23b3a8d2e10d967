// Package bridge lets the packages beside package kopf reach the engine, so that neither
// has to export what users have no use for. Package kopf and package storage fill in
// their ends when they are initialised; nothing changes after that.
package bridge

import (
	"github.com/kopf-dev/kopf/sdk/internal/diffbase"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/progress"
)

// What package kopf offers.
var (
	// Patch returns what is in a *kopf.Patch; nil for a nil one.
	Patch func(kopfPatch any) *patch.Patch

	// Progress returns the engine's form of a kopf.ProgressStorage, whatever it is.
	Progress func(storage any) progress.Storage

	// DiffBase returns the engine's form of a kopf.DiffBaseStorage, whatever it is.
	DiffBase func(storage any) diffbase.Storage
)

// What package storage offers: they are nil if the program does not import it.
var (
	// BuiltinProgress returns the engine's own storage that a public one stands for;
	// nil if it stands for none.
	BuiltinProgress func(storage any) progress.Storage

	// BuiltinDiffBase is the same for diff bases.
	BuiltinDiffBase func(storage any) diffbase.Storage
)
