package observe

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/state"
)

// ProcessingStarted tells that the object's worker begins with a new version of the object.
type ProcessingStarted struct {
	Subject *Subject
}

// EventDispatched tells that the handlers of a raw event are about to be called.
type EventDispatched struct {
	Subject  *Subject
	Cause    *handlers.Cause // of the raw event
	Handlers *handlers.Set   // of the resource
}

// CauseDetected tells what happened to the object, before any handler of changes is called.
type CauseDetected struct {
	Subject *Subject

	// Cause is nil if the resource has neither handlers of changes nor daemons and timers.
	Cause *handlers.Cause

	Handlers   *handlers.Set // of the resource
	Changing   bool          // handlers of changes are interested in the object
	Finalizer  bool          // the object has the operator's finalizer
	Background Background    // the daemons and timers of the object; nil if there are none
	At         time.Time

	// Failures are the permanent failures that are recorded on the object. Again are the ids of the
	// handlers that are called again after such failures, others are not; nil if it is an ordinary cause.
	Failures []state.Failure
	Again    []string
}

// Background gives access to the daemons and timers of an object. It is safe for concurrent use.
type Background interface {
	// Task returns the state of the daemon or timer of a handler, and false if it does not run.
	Task(handlerID string) (Task, bool)

	// Retired reports whether the daemon or timer of a handler ended on its own: it is not
	// started again.
	Retired(handlerID string) bool
}

// Task is the state of a daemon or timer that runs.
type Task struct {
	Stopping bool      // it was asked to stop
	Due      time.Time // when its handler is called next; zero if that is not known
	Waiting  bool      // its handler is not running
}

// OrphansFound tells which progress on the object belongs to handlers that do not exist. It is
// told for each cause with handlers, so that an empty list replaces a former one.
type OrphansFound struct {
	Subject *Subject
	Orphans []state.Orphan
}

// MarkBroken tells that something that is stored on the object cannot be read, once for each that is
// found. The object is handled as one without it, and the operator's next patch sets it aside.
type MarkBroken struct {
	Subject *Subject
	Mark    *state.BrokenMark
}

// PatchPending reports that the API server has not answered a PATCH of the operator for a while, and later that the
// request has ended.
type PatchPending struct {
	Subject     *Subject
	Subresource string    // empty for the object itself
	Since       time.Time // start of the request; zero after its end
}

// AnswerSkipped says that nothing is left to do for the version that the operator's patch made: the subject's version.
type AnswerSkipped struct{ Subject *Subject }

// CauseSuperseded tells that the handlers of an earlier cause were not done when the present cause
// was detected.
type CauseSuperseded struct {
	Subject    *Subject
	Cause      *handlers.Cause // the present one
	Superseded handlers.Reason
	Counts     state.Counts // of the handlers of the earlier cause
}

// CauseStarted tells that the operator starts, or continues, to handle a cause.
type CauseStarted struct {
	Subject  *Subject
	Cause    *handlers.Cause
	Selected []*handlers.Handler // for the cause; none if its reason has no handlers
}

// CauseProcessed tells that all handlers of a cause are done.
type CauseProcessed struct {
	Subject *Subject
	Cause   *handlers.Cause
	Counts  state.Counts // of the handlers of the cause
}

// AttemptStarted tells that a handler is about to be called, or to be found out of attempts.
type AttemptStarted struct {
	Subject *Subject
	Handler *handlers.Handler
	Retries int       // attempts before this one
	Started time.Time // of the first attempt
	Began   time.Time // of this attempt

	// Exhausted means that the limits of the handler prevent the call; [AttemptEnded] follows.
	Exhausted bool
}

// AttemptEnded tells the outcome of an attempt.
type AttemptEnded struct {
	Subject *Subject
	Handler *handlers.Handler
	Retries int           // attempts before this one
	Started time.Time     // of the first attempt
	Began   time.Time     // of this attempt
	Took    time.Duration // zero with Exhausted

	// Exhausted means that the handler was not called, since its limits were reached before.
	Exhausted bool

	// Cancelled means that a daemon or timer returned because it was asked to.
	Cancelled bool

	Outcome handlers.Outcome
	Err     error            // that the handler returned; the outcome may ignore it
	Line    handlers.LogLine // for people
}

// ProgressRecorded tells how far the handlers of a cause are after some of them were called.
type ProgressRecorded struct {
	Subject  *Subject
	Parent   string // the id of the handler whose sub-handlers these are; empty for top-level handlers
	Progress state.Progress
}

// OutcomesHeld tells that what a cycle has done could not be written to the object, and is kept in
// memory until it can be. It is told again for each further attempt that fails.
type OutcomesHeld struct {
	Subject  *Subject
	Handlers []string // ids of the handlers that are done, or were attempted; may be empty
	Since    time.Time
	Again    bool // it was told before
	Err      error
}

// OutcomesWritten tells that what was kept in memory is written to the object.
type OutcomesWritten struct {
	Subject  *Subject
	Handlers []string
	Held     time.Duration // since it was held first
}

// ProcessingEnded tells that the worker is done with a version of the object, or failed. The logger of
// its subject must not post Kubernetes events.
type ProcessingEnded struct {
	Subject *Subject
	At      time.Time

	Finished  bool          // all handlers of the cause are done, and that is recorded
	Deleted   bool          // it was the last version
	Recovered bool          // it succeeded after failures
	Err       error         // why it failed; nil if it succeeded
	RetryIn   time.Duration // until it is tried again, if it failed and was not the last version
}

// BackgroundStopped tells about daemons and timers that are stopped while no worker processes their
// object.
type BackgroundStopped struct {
	Identity *Identity
	Handlers []*handlers.Handler
	Ended    bool // they have ended; otherwise they were asked to

	// Background is how the daemons and timers of the object are by then. Those that run again
	// were started anew. Only set with Ended.
	Background Background
}

// ObjectIndexed tells how all indexing functions stand with the object after some were called.
type ObjectIndexed struct {
	Subject   *Subject
	Decisions []handlers.Decision     // about all indexing functions of the resource
	Failures  map[string]IndexFailure // by the ids of handlers; nil if none failed
}

// IndexFailure is a failure of an indexing function that keeps an object out of the index.
type IndexFailure struct {
	Final bool      // the handler is not called again for this object
	Until time.Time // before which the handler is not called again
}

// ObjectForgotten tells that the operator does not remember the object anymore: it was deleted, or
// is not served anymore.
type ObjectForgotten struct {
	Identity *Identity
}

// ObjectPaused tells that an annotation of an object pauses its handling, or does not anymore.
type ObjectPaused struct {
	Subject *Subject
	Paused  bool
	Reason  string // the value of the annotation
}

// Kind implements [Event].
func (ObjectPaused) Kind() Kind { return KindObjectPaused }

// Kind implements [Event].
func (ProcessingStarted) Kind() Kind { return KindProcessingStarted }

// Kind implements [Event].
func (EventDispatched) Kind() Kind { return KindEventDispatched }

// Kind implements [Event].
func (CauseDetected) Kind() Kind { return KindCauseDetected }

// Kind implements [Event].
func (OrphansFound) Kind() Kind { return KindOrphansFound }

// Kind implements [Event].
func (MarkBroken) Kind() Kind { return KindMarkBroken }

// Kind implements [Event].
func (AnswerSkipped) Kind() Kind { return KindAnswerSkipped }

// Kind implements [Event].
func (PatchPending) Kind() Kind { return KindPatchPending }

// Kind implements [Event].
func (CauseSuperseded) Kind() Kind { return KindCauseSuperseded }

// Kind implements [Event].
func (CauseStarted) Kind() Kind { return KindCauseStarted }

// Kind implements [Event].
func (CauseProcessed) Kind() Kind { return KindCauseProcessed }

// Kind implements [Event].
func (AttemptStarted) Kind() Kind { return KindAttemptStarted }

// Kind implements [Event].
func (AttemptEnded) Kind() Kind { return KindAttemptEnded }

// Kind implements [Event].
func (ProgressRecorded) Kind() Kind { return KindProgressRecorded }

// Kind implements [Event].
func (OutcomesHeld) Kind() Kind { return KindOutcomesHeld }

// Kind implements [Event].
func (OutcomesWritten) Kind() Kind { return KindOutcomesWritten }

// Kind implements [Event].
func (ProcessingEnded) Kind() Kind { return KindProcessingEnded }

// Kind implements [Event].
func (BackgroundStopped) Kind() Kind { return KindBackgroundStopped }

// Kind implements [Event].
func (ObjectIndexed) Kind() Kind { return KindObjectIndexed }

// Kind implements [Event].
func (ObjectForgotten) Kind() Kind { return KindObjectForgotten }
