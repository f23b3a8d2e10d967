// Package testhooks gives package kopftest access to unexported fields of package kopf's requests. Go has no friend
// packages; exported functions in package kopf would be visible to every operator's author. Package kopf sets the
// variables when it is initialised; nothing changes them afterwards. Only package kopftest may call them.
package testhooks

import (
	"context"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

var (
	// Foresee returns the object of a *kopf.Patch as it will be with the changes of the patch,
	// and the changes as a merge patch. A nil patch has neither.
	Foresee func(kopfPatch any) (after, changes map[string]any, err error)

	// AttachTask makes a *kopf.DaemonRun the run of a task, with a patch and a function that
	// sends it.
	AttachTask func(daemonRun any, task Task, p *patch.Patch, send func(context.Context) error)

	// NewRecorder returns a *kopf.Recorder that posts to a poster.
	NewRecorder func(poster Poster) any

	// PosterOf returns the poster of a *kopf.Recorder; nil for a nil one.
	PosterOf func(recorder any) Poster

	// SetClock replaces the clock of a *kopf.Operator that does not run.
	SetClock func(operator any, now func() time.Time)

	// PutUnderTest prepares a *kopf.Operator before its run. An operator whose settings name no server of webhooks gets
	// a server, and manages configurations of the given name. The webhooks are only for the namespaces that the operator
	// serves. The endpoint of its metrics has any free port. The function receives the *kopf.Settings before and after the startup handlers.
	PutUnderTest func(operator any, managed string, settled func(settings any))

	// NewPatch returns an empty *kopf.Patch of a *kopf.Object, which may be nil.
	NewPatch func(body any) any

	// FillIn replaces the zero values of a *kopf.Settings by their defaults, as startup handlers get them.
	FillIn func(settings any)

	// EngineError converts the error of a handler for the engine.
	EngineError func(err error) error

	// PassOf returns a pointer to the engine's pass of a *kopf.Pass, as a **reconcile.Pass.
	PassOf func(request any) any

	// SelectorOf converts a kopf.Selector for the engine.
	SelectorOf func(selector any) (resources.Selector, error)

	// CatchConditions makes a function receive the conditions that a handler sets with a *kopf.Request.
	CatchConditions func(request any, set func(metav1.Condition) error)

	// HandlersOf returns the handlers of a *kopf.Registry.
	HandlersOf func(registry any) *handlers.Registry
)

// Task is the operator's side of a *kopf.DaemonRun: a [daemons.Task], or the stand-in of package kopftest. It is safe
// for concurrent use.
type Task interface {
	// Live returns the newest version of the object.
	Live() *object.Object

	// Views returns the object's decoded views, which its daemons share.
	Views() *daemons.Views

	// Newer returns a channel that closes when a newer version of the object arrives.
	Newer() <-chan struct{}

	// Stopping returns a channel that closes when the daemon is asked to finish.
	Stopping() <-chan struct{}

	// Reason returns the reasons for which the daemon was asked to finish; 0 if it was not.
	Reason() daemons.Reason

	// Sleep waits for the duration. It returns false as soon as the daemon is asked to finish.
	Sleep(d time.Duration) bool
}

// Poster is where a *kopf.Recorder posts events: the operator, or the stand-in of package
// kopftest. It is safe for concurrent use.
type Poster interface {
	// Record posts an event if its level is posted.
	Record(level slog.Level, eventType, reason, message string)

	// Unleveled posts an event whatever level is posted.
	Unleveled(eventType, reason, message string)

	// About returns a poster of events about other objects.
	About(refs ...observe.ObjectReference) Poster
}
