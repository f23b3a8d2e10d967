package observe

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// EventDispatched reports that event handlers are about to be called.
type EventDispatched struct {
	Subject  *Subject
	Cause    *handlers.Cause // cause with the watch event
	Handlers *handlers.Set   // handlers of the resource
}

// Planned reports the cause of a cycle and its decisions about handlers, before the cycle calls a change handler.
type Planned struct {
	Subject *Subject
	At      time.Time

	Paused bool   // an annotation of the object pauses its handling
	Reason string // value of the pausing annotation

	Cause      *handlers.Cause // nil if no handler needs one
	Handlers   *handlers.Set   // all handlers of the resource
	Changing   bool            // a change handler is interested in the object
	Finalizer  bool            // the object has the operator's finalizer
	Background Background      // the daemons and timers of the object; nil if there are none

	// Orphans are the records on the object whose handlers do not exist. They are only read with Changing.
	Orphans []state.Orphan

	// Steps are the recorded steps of the unfinished handling and of failed handlings. They are only read with Changing.
	Steps []RecordedSteps

	// Failures are the permanent failures that are recorded on the object. Again has the ids of the failed handlers that
	// are retried; nil if the cause is not a retry of failures.
	Failures []state.Failure
	Again    []string

	// Begun means that the cause is handled in this cycle, instead of after a newer version of the object. Selected are the
	// handlers of the cause; empty if its reason has no handlers.
	Begun    bool
	Selected []*handlers.Handler

	PassDue bool // a pass of the reconcile handler begins after the change handlers

	// Superseded counts the unfinished handlers of earlier causes, by the reasons of these causes.
	Superseded map[string]state.Counts
}

// RecordedSteps are the steps of a handler that are recorded on the object.
type RecordedSteps struct {
	Handler string                // id of the handler
	Turn    string                // part of the keys: see [state.StepTurn]
	Steps   map[string]state.Step // steps by their names
	Started map[string]string     // starts of the steps without a result: see [state.HandlerSteps]
}

// Background gives access to the daemons and timers of an object. It is safe for concurrent use.
type Background interface {
	// Task returns the state of the daemon or timer of a handler; false if it does not run.
	Task(handlerID string) (Task, bool)

	// Retired reports whether the daemon or timer of a handler ended on its own, so it does not start again.
	Retired(handlerID string) bool
}

// Task is the state of a running daemon or timer.
type Task struct {
	Stopping bool      // the task was asked to stop
	Due      time.Time // time of the next call; zero if unknown
	Waiting  bool      // the handler is not running at the moment
}

// MarkBroken reports an unreadable record of the operator on an object, once for each value. The object is handled as if it
// had no such record, and the operator's next patch moves the record to a separate annotation.
type MarkBroken struct {
	Subject *Subject
	Mark    *state.BrokenMark
}

// SlotAwaited reports that a handler is due, but its call must wait for a slot of its limit.
type SlotAwaited struct {
	Subject *Subject
	Handler *handlers.Handler
}

// AttemptStarted reports that a handler is about to be called, or that its limits prevent the call.
type AttemptStarted struct {
	Subject *Subject
	Handler *handlers.Handler
	Retries int       // number of earlier attempts
	Started time.Time // start of the first attempt

	// Exhausted means that the limits of the handler prevent the call; [AttemptEnded] follows.
	Exhausted bool
}

// AttemptEnded reports the outcome of an attempt.
type AttemptEnded struct {
	Subject *Subject
	Handler *handlers.Handler
	Retries int           // attempts before this one
	Started time.Time     // start of the first attempt
	Began   time.Time     // start of this attempt
	Took    time.Duration // zero with Exhausted

	// Exhausted means that the handler was not called, because its limits were already reached.
	Exhausted bool

	// Cancelled means that a daemon or timer returned because it was asked to stop.
	Cancelled bool

	Outcome handlers.Outcome
	Err     error            // error that the handler returned; the outcome may ignore it
	Line    handlers.LogLine // log line for people
}

// StepChanged reports the state of a step while its handler runs. The state is empty if the step has failed.
type StepChanged struct {
	Subject *Subject
	Handler *handlers.Handler
	Step    inspect.Step
}

// Recorded reports the new progress of a cause's handlers after some handlers were called. The requests that write the
// progress follow.
type Recorded struct {
	Subject  *Subject
	Cause    *handlers.Cause
	Parent   string // id of the parent of sub-handlers; empty for top-level handlers
	Progress state.Progress
}

// PatchPending reports that the API server has not answered a PATCH of the operator for a while, and later that the
// request has ended.
type PatchPending struct {
	Subject     *Subject
	Subresource string    // empty for the object itself
	Since       time.Time // start of the request; zero after its end
}

// Sent reports that the API server did not accept the changes of a cycle, which the operator keeps in memory, and later that
// the changes are written.
type Sent struct {
	Subject  *Subject
	Handlers []string // ids of the handlers that are done or were attempted; may be empty
	Since    time.Time
	At       time.Time
	Again    bool  // an earlier request with the changes failed
	Err      error // nil if the changes are written
}

// Ended reports that a cycle has ended: the worker is done with a version of the object, or failed. With an error, the
// logger of the subject must not post Kubernetes events.
type Ended struct {
	Subject *Subject
	At      time.Time

	Finished  bool          // all handlers of the cause are done, and their outcomes are recorded
	Deleted   bool          // the version was the last version of a deleted object
	Recovered bool          // the cycle succeeded after failed cycles
	Skipped   bool          // the operator's own patch made the version, and no work is left
	Unwritten bool          // a later cycle writes the conditions of the object, or handles its newest version
	Awaits    []string      // children that must be deleted before the finalizer is removed
	Err       error         // error of the cycle; nil if it succeeded
	RetryIn   time.Duration // delay before the next cycle; zero after a success, and after the last version
}

// BackgroundStopped reports daemons and timers that stop while no worker processes their object.
type BackgroundStopped struct {
	Identity *Identity
	Handlers []*handlers.Handler
	Ended    bool // the tasks have ended; otherwise they were asked to stop

	// Background is the state of the object's daemons and timers after the end. A task that runs has started again. It is
	// only set with Ended.
	Background Background
}

// ObjectIndexed reports the state of all indexing functions for the object, after some of them were called.
type ObjectIndexed struct {
	Subject   *Subject
	Decisions []handlers.Decision     // decisions about all indexing functions of the resource
	Failures  map[string]IndexFailure // failures by handler id; nil if none failed
}

// IndexFailure is a failure of an indexing function that keeps an object out of the index.
type IndexFailure struct {
	Final bool      // the handler is not called again for this object
	Until time.Time // earliest time of the next call
}

// ObjectForgotten reports that the operator forgot an object, because the object was deleted or the operator stopped serving
// its resource.
type ObjectForgotten struct {
	Identity *Identity
}

// Kind implements [Event].
func (EventDispatched) Kind() Kind { return KindEventDispatched }

// Kind implements [Event].
func (Planned) Kind() Kind { return KindPlanned }

// Kind implements [Event].
func (MarkBroken) Kind() Kind { return KindMarkBroken }

// Kind implements [Event].
func (SlotAwaited) Kind() Kind { return KindSlotAwaited }

// Kind implements [Event].
func (AttemptStarted) Kind() Kind { return KindAttemptStarted }

// Kind implements [Event].
func (AttemptEnded) Kind() Kind { return KindAttemptEnded }

// Kind implements [Event].
func (StepChanged) Kind() Kind { return KindStepChanged }

// Kind implements [Event].
func (Recorded) Kind() Kind { return KindRecorded }

// Kind implements [Event].
func (PatchPending) Kind() Kind { return KindPatchPending }

// Kind implements [Event].
func (Sent) Kind() Kind { return KindSent }

// Kind implements [Event].
func (Ended) Kind() Kind { return KindEnded }

// Kind implements [Event].
func (BackgroundStopped) Kind() Kind { return KindBackgroundStopped }

// Kind implements [Event].
func (ObjectIndexed) Kind() Kind { return KindObjectIndexed }

// Kind implements [Event].
func (ObjectForgotten) Kind() Kind { return KindObjectForgotten }
