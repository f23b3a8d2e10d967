package plan

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/outbox"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// View reads the operator's records from one version of an object. It includes unwritten records, and excludes records that cannot be decoded.
// It must be used by one goroutine, except for the steps.
type View struct {
	Tree    map[string]any // the version as it was received
	Stored  map[string]any // the version with the unwritten records, and without the broken ones
	Newest  *object.Object // version that the record of a step made during the cycle; nil if there is none
	broken  []*state.BrokenMark
	Handled map[string]any // last-handled state without records; nil before it is read, and if there is none
	Renewed bool           // a patch has a new last-handled state

	settings *core.Settings
	extra    []object.Path // fields outside of the essence that handlers select
	Progress state.ProgressStorage
	diffbase state.DiffBaseStorage
	failures state.Failures

	mu    sync.Mutex
	steps map[string]state.HandlerSteps // records of the handlers that have used keys in the cycle, by the ids of the handlers

	rebind func(*object.Object)    // binds both storages to another version; nil binds them to the stored tree alone
	warn   func(*state.BrokenMark) // callback for each broken record
}

// NewView returns the view of a version. Custom storages get the context for their I/O.
func NewView(
	ctx context.Context, d *core.Deps, extra []object.Path, obj *object.Object, unwritten *outbox.Outbox, warn func(*state.BrokenMark),
) (*View, error) {
	tree, err := obj.Tree()
	if err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	v := &View{Tree: tree, Stored: unwritten.Overlay(tree), settings: d.Settings, extra: extra, failures: d.Failures, warn: warn}
	v.rebind = func(obj *object.Object) {
		v.Progress = state.BindProgress(ctx, d.Settings.Progress, obj)
		v.diffbase = state.BindDiffBase(ctx, d.Settings.DiffBase, obj)
	}
	if !unwritten.Empty() {
		obj = nil // only the Stored tree has the unwritten records
	}
	v.rebind(obj)
	return v, nil
}

// essence returns the essence of a version, without the operator's records and the ignored metadata.
func (v *View) essence(tree map[string]any) map[string]any {
	return v.ownless(v.Versions().Clear(v.StepStorage().Clear(v.Kinds().Clear(v.failures.Clear(v.diffbase.Essence(tree, v.extra))))))
}

func (v *View) ownless(essence map[string]any) map[string]any {
	return state.WithoutMetadata(state.WithoutPaused(v.Progress.Clear(essence)), v.settings.Selection.IgnoredMetadata)
}

// lastHandled returns the essence of the version that was handled last; nil if no version was handled.
func (v *View) lastHandled() (map[string]any, error) {
	old, err := readRecords(v, "last-handled state", func() (map[string]any, error) { return v.diffbase.Fetch(v.Stored) })
	if old != nil {
		old = v.ownless(old)
	}
	v.Handled = old
	return old, err
}

// ProgressOf returns the progress of handlers.
func (v *View) ProgressOf(ids []string, now time.Time) (state.Progress, error) {
	return readRecords(v, "progress", func() (state.Progress, error) { return state.ReadProgress(v.Stored, v.Progress, ids, now) })
}

// StoreProgress adds the changed records to a patch.
func (v *View) StoreProgress(progress state.Progress, own *patch.Patch) error {
	if err := progress.Store(v.Stored, v.Progress, own); err != nil {
		return fmt.Errorf("record the progress: %w", err)
	}
	return nil
}

// Purge removes the records of all handlers in the progress and of the handlers with the ids, by a patch.
func (v *View) Purge(progress state.Progress, ids []string, own *patch.Patch) error {
	if err := progress.Purge(v.Stored, v.Progress, ids, own); err != nil {
		return fmt.Errorf("purge the progress: %w", err)
	}
	return nil
}

// readRecords calls a function that reads records, and repeats the call without each broken record, so that these block nothing.
func readRecords[T any](v *View, what string, read func() (T, error)) (T, error) {
	for {
		records, err := read()
		if broken, ok := errors.AsType[*state.BrokenMark](err); ok && v.exclude(broken) {
			continue
		}
		if err != nil {
			err = fmt.Errorf("read the %s: %w", what, err)
		}
		return records, err
	}
}

// exclude hides a broken record from the storages. It returns false if the record is not at the path that its storage names.
func (v *View) exclude(mark *state.BrokenMark) bool {
	if _, exists := object.Lookup(v.Stored, mark.Path); !exists {
		return false
	}
	v.Stored = object.Without(v.Stored, mark.Path)
	v.rebind(nil)
	v.broken = append(v.broken, mark)
	v.warn(mark)
	return true
}

// Kinds returns the storage of the kinds of the object's children.
func (v *View) Kinds() state.ChildKinds { return state.ChildKinds{Prefix: v.failures.Prefix} }

// Versions returns the storage of the versions of handlers.
func (v *View) Versions() state.Versions { return state.Versions{Prefix: v.failures.Prefix} }

// SetBrokenAside moves the broken records aside by a patch.
func (v *View) SetBrokenAside(own *patch.Patch) {
	for _, mark := range v.broken {
		mark.SetAside(v.Tree, own)
	}
}
