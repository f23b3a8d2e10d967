package observe

import (
	"time"

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

	Paused bool   // an annotation of the object pauses its handling: nothing is done
	Reason string // the value of that annotation

	Cause      *handlers.Cause // nil if no handler needs one
	Handlers   *handlers.Set   // all handlers of the resource
	Changing   bool            // a change handler is interested in the object
	Finalizer  bool            // the object has the operator's finalizer
	Background Background      // the daemons and timers of the object; nil if there are none

	// Orphans are the records on the object whose handlers do not exist. They are only read with Changing.
	Orphans []state.Orphan

	// Failures are the permanent failures that are recorded on the object. Again are the ids of the
	// handlers that are called again after such failures, others are not; nil if it is an ordinary cause.
	Failures []state.Failure
	Again    []string

	// Begun means that the cause is handled now, and not only after another version of the object. Selected are
	// its handlers; none if its reason has no handlers.
	Begun    bool
	Selected []*handlers.Handler

	// Superseded counts the handlers of earlier causes that were not done, by the reasons of these causes.
	Superseded map[string]state.Counts
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
	Due      time.Time // time of the next call; zero if unknown
	Waiting  bool      // its handler is not running
}

// MarkBroken reports stored state of the operator on an object that cannot be read, once for each text. The
// object is handled as one without it, and the operator's next patch sets it aside.
type MarkBroken struct {
	Subject *Subject
	Mark    *state.BrokenMark
}

// AttemptStarted reports that a handler is about to be called, or to be found out of attempts.
type AttemptStarted struct {
	Subject *Subject
	Handler *handlers.Handler
	Retries int       // attempts before this one
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

	// Exhausted means that the handler was not called, since its limits were reached before.
	Exhausted bool

	// Cancelled means that a daemon or timer returned because it was asked to.
	Cancelled bool

	Outcome handlers.Outcome
	Err     error            // error that the handler returned; the outcome may ignore it
	Line    handlers.LogLine // log line for people
}

// Recorded reports how far the handlers of a cause are after some of them were called. The requests that write it follow.
type Recorded struct {
	Subject  *Subject
	Cause    *handlers.Cause
	Parent   string // the id of the handler whose sub-handlers these are; empty for top-level handlers
	Progress state.Progress
}

// PatchPending reports that the API server has not answered a PATCH of the operator for a while, and later that the
// request has ended.
type PatchPending struct {
	Subject     *Subject
	Subresource string    // empty for the object itself
	Since       time.Time // start of the request; zero after its end
}

// Sent reports that the API server has not accepted the changes of a cycle, which are kept in memory until it
// does, and later that they are written.
type Sent struct {
	Subject  *Subject
	Handlers []string // ids of the handlers that are done, or were attempted; may be empty
	Since    time.Time
	At       time.Time
	Again    bool  // it failed before
	Err      error // nil if the changes are written
}

// Ended reports that the worker is done with a version of the object, or failed. With an error, the logger of its
// subject must not post Kubernetes events.
type Ended struct {
	Subject *Subject
	At      time.Time

	Finished  bool          // all handlers of the cause are done, and that is recorded
	Deleted   bool          // it was the last version
	Recovered bool          // it succeeded after failures
	Skipped   bool          // the operator's own patch has made the version, and left nothing to do for it
	Err       error         // error of the request; nil if it succeeded
	RetryIn   time.Duration // delay before the next try; zero after success, and after the last version
}

// BackgroundStopped reports daemons and timers that are stopped while no worker processes their object.
type BackgroundStopped struct {
	Identity *Identity
	Handlers []*handlers.Handler
	Ended    bool // they have ended; otherwise they were asked to

	// Background is how the daemons and timers of the object are by then. Those that run again
	// were started anew. Only set with Ended.
	Background Background
}

// ObjectIndexed reports how all indexing functions stand with the object after some were called.
type ObjectIndexed struct {
	Subject   *Subject
	Decisions []handlers.Decision     // about all indexing functions of the resource
	Failures  map[string]IndexFailure // failures by handler id; nil if none failed
}

// IndexFailure is a failure of an indexing function that keeps an object out of the index.
type IndexFailure struct {
	Final bool      // the handler is not called again for this object
	Until time.Time // earliest time of the next call
}

// ObjectForgotten reports that the operator has forgotten a deleted object, or an object whose resource
// it no longer serves.
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
func (AttemptStarted) Kind() Kind { return KindAttemptStarted }

// Kind implements [Event].
func (AttemptEnded) Kind() Kind { return KindAttemptEnded }

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
