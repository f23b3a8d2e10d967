// Package bridge lets the packages beside package kopf reach the engine, so that neither
// has to export what users have no use for. Package kopf and package storage fill in
// their ends when they are initialised; nothing changes after that.
package bridge

import (
	"context"
	"log/slog"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// What package kopf offers.
var (
	// Patch returns what is in a *kopf.Patch; nil for a nil one.
	Patch func(kopfPatch any) *patch.Patch

	// PatchBase returns the object that a *kopf.Patch is about, which must not be
	// modified; nil if it is about none.
	PatchBase func(kopfPatch any) (map[string]any, error)

	// Progress returns the engine's form of a kopf.ProgressStorage, whatever it is.
	Progress func(storage any) state.ProgressStorage

	// Attach makes a *kopf.DaemonRun the run of a task, with a patch and with how to send it.
	Attach func(daemonRun any, task Task, p *patch.Patch, send func(context.Context) error)

	// NewRecorder makes a *kopf.Recorder, and PosterOf tells what it was made of; nil for a
	// nil one.
	NewRecorder func(poster Poster) any
	PosterOf    func(recorder any) Poster

	// Handlers returns what is in a *kopf.Registry.
	Handlers func(registry any) *handlers.Registry

	// DefaultSettings returns *kopf.Settings as the handlers of activities see them.
	DefaultSettings func() any
)

// Task is what a daemon finds out about itself and its object: from the engine, or from
// the test that drives it.
type Task interface {
	// Live is the newest version of the object.
	Live() *object.Object

	// Views are what was decoded of it.
	Views() *daemons.Views

	// Newer closes when there is a newer version than now.
	Newer() <-chan struct{}

	// Stopping closes when the daemon should finish.
	Stopping() <-chan struct{}

	// Reason tells why it should; 0 if it should not.
	Reason() daemons.Reason

	// Sleep waits for a while, and is false at once when the daemon should finish.
	Sleep(d time.Duration) bool
}

// Poster is where a *kopf.Recorder posts events.
type Poster interface {
	// Record posts an event, if its level is high enough.
	Record(level slog.Level, eventType, reason, message string)

	// Unleveled posts an event whatever the level that is to be posted.
	Unleveled(eventType, reason, message string)

	// About posts about other objects.
	About(refs ...observe.ObjectReference) Poster
}
