package explain_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

var now = time.Date(2026, time.November, 21, 14, 2, 23, 0, time.UTC)

func failedWith(kind inspect.ErrorKind, message string) *inspect.HandlerError {
	return &inspect.HandlerError{Kind: kind, Message: message}
}

func TestVerdict_SaysWhatHappenedWhyAndWhatIsNext(t *testing.T) {
	resize := inspect.HandlerState{ID: "resize", State: inspect.PhaseRetrying, Attempt: 2, Limit: 5, Next: now.Add(12 * time.Second), Error: failedWith("arbitrary", "still attached.")}
	waits := resize
	waits.Error = failedWith("temporary", "still attached.")
	endless := resize
	endless.Limit = 0
	relabel := inspect.HandlerState{ID: "relabel", State: inspect.PhaseRetrying, Attempt: 1, Next: now.Add(time.Minute)}
	sub := inspect.HandlerState{ID: "resize/pvc", Parent: "resize", State: inspect.PhaseRetrying, Attempt: 2, Limit: 5, Next: resize.Next, Error: resize.Error}
	failed := func(kind inspect.ErrorKind) inspect.HandlerState {
		return inspect.HandlerState{ID: "create", State: inspect.PhaseFailed, Attempt: 3, Limit: 3, Error: failedWith(kind, "no size")}
	}
	running := inspect.HandlerState{ID: "resize", State: inspect.PhaseRunning, Attempt: 1, Limit: 5, Started: now.Add(-time.Second)}
	began := running
	began.Started = now
	later := running
	later.Attempt = 2
	release := inspect.HandlerState{ID: "release", State: inspect.PhaseRunning}
	grown := &inspect.Cause{Reason: "update", Diff: []inspect.DiffItem{{Op: "change", Path: "spec.size", Old: "1Gi", New: "3Gi"}}}
	moreGrown := &inspect.Cause{Reason: "update", Diff: append(grown.Diff[:1:1], inspect.DiffItem{Op: "add", Path: "a"}, inspect.DiffItem{Op: "remove", Path: "b"})}
	gold := func(id string) inspect.HandlerState {
		return inspect.HandlerState{ID: id, State: inspect.PhaseFiltered, Why: &inspect.Mismatch{Kind: "label", Path: "tier", Is: "bronze", Wants: "gold"}}
	}
	runsOn := func(id, reason string) inspect.HandlerState {
		return inspect.HandlerState{ID: id, State: inspect.PhaseOtherCause, Why: &inspect.Mismatch{Kind: "reason", Wants: reason}}
	}
	type handlers = []inspect.HandlerState

	for name, test := range map[string]struct {
		object inspect.Object
		held   string
		want   string
	}{
		"retrying":                    {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{resize}}, "", "resize failed, attempt 2 of 5: still attached. Retrying in 12s."},
		"retrying, no limit":          {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{endless}}, "", "resize failed, attempt 2: still attached. Retrying in 12s."},
		"retrying, held":              {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{resize}}, "paused", "resize failed, attempt 2 of 5: still attached. The retry is held (paused)."},
		"several are retrying":        {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{relabel, resize}}, "", "resize failed, attempt 2 of 5: still attached. relabel is being retried, too. Retrying in 12s."},
		"a child is its parent":       {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{resize, sub}}, "", "resize failed, attempt 2 of 5: still attached. Retrying in 12s."},
		"retrying, one is lost":       {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{failed("permanent"), resize}}, "", "resize failed, attempt 2 of 5: still attached. create has failed permanently. Retrying in 12s."},
		"waiting for something":       {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{waits}}, "", "resize waits, attempt 2 of 5: still attached. Looking again in 12s."},
		"waiting for something, held": {inspect.Object{State: inspect.StateRetrying, Handlers: handlers{waits}}, "paused", "resize waits, attempt 2 of 5: still attached. The retry is held (paused)."},
		"failed, repeated panic":      {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "create", State: inspect.PhaseFailed, Error: failedWith("panic", "panic: oops at a.go:1")}}}, "", "create panicked: oops at a.go:1. It runs again only when it is retried, or the object is handled from scratch."},
		"failed":                      {inspect.Object{State: inspect.StateFailed, Handlers: handlers{failed("permanent")}}, "", "create failed permanently: no size. It runs again only when it is retried, or the object is handled from scratch."},
		"failed, update":              {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "u", Kind: "update", State: inspect.PhaseFailed}}}, "", "u failed permanently. It runs again when the object changes, or it is retried."},
		"failed, field":               {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "f", Kind: "field", State: inspect.PhaseFailed}}}, "", "f failed permanently. It runs again when its field changes, or it is retried."},
		"failed, resume":              {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "r", Kind: "resume", State: inspect.PhaseFailed}}}, "", "r failed permanently. It runs again when the operator restarts, or it is retried."},
		"failed, sub-handler": {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "u", Kind: "update", State: inspect.PhaseDone},
			{ID: "u/a", Kind: "sub", Parent: "u", State: inspect.PhaseFailed}}}, "", "u/a failed permanently. It runs again when the object changes, or it is retried."},
		"failed, then paused": {inspect.Object{State: inspect.StateFailed, Paused: &inspect.ObjectPause{Reason: "held"}, Handlers: handlers{failed("permanent")}}, "",
			"create failed permanently: no size. Paused: held; nothing runs until the annotation kopf.dev/paused is removed."},
		"failed, timer":          {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "ping", Kind: "timer", State: inspect.PhaseFailed}}}, "", "ping failed permanently. It starts again for this object only when it is retried, or the operator restarts."},
		"failed deletion, kept":  {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "release", Kind: inspect.KindDelete, State: inspect.PhaseFailed, Error: failedWith("permanent", "no size")}}}, "", "release failed permanently: no size. It runs again when it is retried. Until it succeeds, our finalizer keeps the object."},
		"failed, out of retries": {inspect.Object{State: inspect.StateFailed, Handlers: handlers{failed("retries")}}, "", "create gave up after 3 attempts: no size. It runs again only when it is retried, or the object is handled from scratch."},
		"failed, out of time":    {inspect.Object{State: inspect.StateFailed, Handlers: handlers{failed("timeout")}}, "", "create ran out of time after 3 attempts: no size. It runs again only when it is retried, or the object is handled from scratch."},
		"failed, panic":          {inspect.Object{State: inspect.StateFailed, Handlers: handlers{failed("panic")}}, "", "create panicked: no size. It runs again only when it is retried, or the object is handled from scratch."},
		"running":                {inspect.Object{State: inspect.StateRunning, Cause: grown, Handlers: handlers{running}}, "", "resize is running, attempt 1 of 5, because spec.size changed 1Gi → 3Gi. It has been running for 1s."},
		"running again":          {inspect.Object{State: inspect.StateRunning, Cause: moreGrown, Handlers: handlers{later}}, "", "resize is running, attempt 2 of 5, because spec.size changed 1Gi → 3Gi and 2 more changes."},
		"running on a new one":   {inspect.Object{State: inspect.StateRunning, Cause: &inspect.Cause{Reason: "create"}, Handlers: handlers{running}}, "", "resize is running, attempt 1 of 5, because the object is new. It has been running for 1s."},
		"waiting": {inspect.Object{State: inspect.StateWaiting, Waiting: &inspect.Waiting{Wrote: "4719", Seen: "4711", Deadline: now.Add(4600 * time.Millisecond)}}, "",
			"No decision yet: our own patch v4719 has not come back, the stream is at v4711. Decides at the latest in 5s."},
		"stuck": {inspect.Object{State: inspect.StateStuck, Handlers: handlers{failed("retries"), {ID: "archive", State: inspect.PhaseUnknown}}}, "",
			"Deletion waits for our finalizer: create gave up after 3 attempts: no size; archive is not a handler of this code."},
		"stuck in a handler":     {inspect.Object{State: inspect.StateStuck, Handlers: handlers{running}}, "", "Deletion waits for our finalizer: resize is still running."},
		"stuck for no reason":    {inspect.Object{State: inspect.StateStuck}, "", "Deletion waits for our finalizer, and no handler is left that would lead to its removal."},
		"stuck for children":     {inspect.Object{State: inspect.StateStuck, Awaits: []string{"Secret far/x"}}, "", "Deletion waits for our finalizer: the deletion of Secret far/x has not ended."},
		"deleting children":      {inspect.Object{State: inspect.StateDeleting, Finalizer: true, Awaits: []string{"Secret far/x"}}, "", "Deletion: deleting Secret far/x; then our finalizer goes."},
		"stuck, but tried again": {inspect.Object{State: inspect.StateStuck, Handlers: handlers{resize}}, "", "Deletion waits for our finalizer: resize failed, attempt 2 of 5: still attached, retrying in 12s."},
		"deleting": {inspect.Object{State: inspect.StateDeleting, Finalizer: true, Handlers: handlers{release, {ID: "expire", State: inspect.PhaseStopping}}}, "",
			"Deletion: release is running, expire is stopping; then our finalizer goes."},
		"deleting, tried again":       {inspect.Object{State: inspect.StateDeleting, Handlers: handlers{resize}}, "", "Deletion: resize failed, attempt 2 of 5: still attached. Retrying in 12s."},
		"deleting, nearly done":       {inspect.Object{State: inspect.StateDeleting, Finalizer: true}, "", "Deletion: our finalizer is being removed."},
		"deleting, not our own":       {inspect.Object{State: inspect.StateDeleting}, "", "Deletion: nothing of ours blocks it; it waits for others."},
		"paused":                      {inspect.Object{State: inspect.StatePaused}, "", "Paused: an annotation says so. What changes is handled when the annotation kopf.dev/paused is removed, but a deletion at once."},
		"ignored":                     {inspect.Object{State: inspect.StateIgnored, Handlers: handlers{gold("create"), gold("resize"), runsOn("relabel", "update")}}, "", "No handler matches: label tier is bronze, and create and resize want gold."},
		"ignored, one handler":        {inspect.Object{State: inspect.StateIgnored, Handlers: handlers{gold("create")}}, "", "No handler matches: label tier is bronze, and create wants gold."},
		"ignored, other causes":       {inspect.Object{State: inspect.StateIgnored, Handlers: handlers{runsOn("create", "create"), runsOn("release", "delete")}}, "", "No handler matches: create runs on create and release runs on delete."},
		"ignored, nobody cares":       {inspect.Object{State: inspect.StateIgnored}, "", "No handler matches."},
		"settled":                     {inspect.Object{State: inspect.StateSettled, Cause: &inspect.Cause{Reason: "create", Done: now.Add(-6 * time.Minute)}}, "", "All handled 6m ago (create); nothing has changed since."},
		"running since just now":      {inspect.Object{State: inspect.StateRunning, Cause: &inspect.Cause{Reason: "create"}, Handlers: handlers{began}}, "", "resize is running, attempt 1 of 5, because the object is new."},
		"settled, but held by others": {inspect.Object{State: inspect.StateSettled, Cause: &inspect.Cause{Reason: "delete", Done: now.Add(-6 * time.Minute)}}, "", "All handled 6m ago (delete); the deletion waits for finalizers of others."},
		"settled, held, restarted":    {inspect.Object{State: inspect.StateSettled, Cause: &inspect.Cause{Reason: "free", Done: now.Add(-6 * time.Minute)}}, "", "All handled 6m ago; the deletion waits for finalizers of others."},
		"settled, nothing new":        {inspect.Object{State: inspect.StateSettled, Cause: &inspect.Cause{Reason: "noop", Done: now.Add(-28 * time.Second)}}, "", "Nothing to handle: the object is as it was when it was last handled."},
		"settled before we came":      {inspect.Object{State: inspect.StateSettled, Cause: &inspect.Cause{Reason: "noop"}}, "", "All is handled; nothing has changed since."},
		"only watched":                {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "adopt", Kind: "event", State: inspect.PhaseDone}}}, "", "Only watched: adopt gets every event; nothing is stored on this object."},
		"watched by another":          {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "adopt", Kind: "event", State: inspect.PhaseDone}, {ID: "other", Kind: "event", State: inspect.PhaseFiltered, Why: &inspect.Mismatch{Kind: "when"}}}}, "", "Only watched: adopt gets every event; nothing is stored on this object."},
		"only indexed":                {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "byNode", Kind: "index", State: inspect.PhaseDone}, {ID: "byLabel", Kind: "index", State: inspect.PhaseDone}}}, "", "Only indexed: byNode and byLabel look at each version; nothing is stored on this object."},
		"out of an index":             {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "byNode", Kind: "index", State: inspect.PhaseRetrying, Next: now.Add(42 * time.Second)}}}, "", "Not in an index: byNode failed; retrying in 42s."},
		"out until it changes":        {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "byNode", Kind: "index", State: inspect.PhaseRetrying, Next: now}}}, "", "Not in an index: byNode failed; retrying with the next version."},
		"out of an index permanently": {inspect.Object{State: inspect.StateFailed, Handlers: handlers{{ID: "byNode", Kind: "index", State: inspect.PhaseFailed, Attempt: 1, Error: &inspect.HandlerError{Kind: "permanent", Message: "no node"}}}}, "", "byNode failed permanently: no node. The object is no longer in that index, even if it changes."},
		"children": {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "reconcile", Kind: "reconcile", State: inspect.PhaseDone}}}, "",
			"The children are as they were described; the next change of the object or of a child is handled."},
		"children that are not ready": {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "reconcile", Kind: "reconcile", State: inspect.PhaseDone}}, Children: &inspect.ChildCounts{Ready: 2, Failed: 1, Total: 4}}, "",
			"2 of 4 children are ready, 1 has failed; the next change of the object or of a child is handled."},
		"a child that is not ready": {inspect.Object{State: inspect.StateSettled, Handlers: handlers{{ID: "reconcile", Kind: "reconcile", State: inspect.PhaseDone}}, Children: &inspect.ChildCounts{Total: 1}}, "",
			"0 of 1 child is ready; the next change of the object or of a child is handled."},
		"nothing to say":  {inspect.Object{State: inspect.StateSettled}, "", "Nothing to do here."},
		"from the future": {inspect.Object{State: "dreaming"}, "", "The operator calls this dreaming."},
	} {
		if got := explain.Verdict(&test.object, now, test.held); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestVerdict_NamesRequestWithoutAnswer(t *testing.T) {
	sent := now.Add(-12 * time.Second)
	for want, u := range map[string]inspect.Unanswered{
		"Waits for the answer of the API server to our PATCH, sent 12s ago.":               {Since: sent},
		"Waits for the answer of the API server to our PATCH of the status, sent 12s ago.": {Subresource: "status", Since: sent},
	} {
		if got := explain.Verdict(&inspect.Object{State: inspect.StateWaiting, Unanswered: &u}, now, ""); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestVerdict_EndsWithCountdown(t *testing.T) {
	o := inspect.Object{State: inspect.StateRetrying, Handlers: []inspect.HandlerState{{ID: "x", State: inspect.PhaseRetrying, Attempt: 1, Next: now.Add(10 * time.Second), Error: failedWith("temporary", "e")}}}
	before, after := explain.Verdict(&o, now, ""), explain.Verdict(&o, now.Add(time.Second), "")
	if a, b := strings.TrimSuffix(before, "10s."), strings.TrimSuffix(after, "9s."); a != b {
		t.Errorf("more than the end has moved:\n%s\n%s", before, after)
	}
}
