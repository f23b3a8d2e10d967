package kopf

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Each family of handlers has its own option type. An option implements the types of its families, so that [Attempts] for
// an event handler does not compile.
type (
	// CreateOption is an option of [OnCreate].
	CreateOption interface{ create(*config) }
	// UpdateOption is an option of [OnUpdate], [OnField] and sub-handlers.
	UpdateOption interface {
		FieldOption
		update(*config)
	}
	// FieldOption is an option of [OnField] and of sub-handlers, which can be called for more than one [Reason].
	FieldOption interface{ field(*config) }
	// DeleteOption is an option of [OnDelete].
	DeleteOption interface{ delete(*config) }
	// ResumeOption is an option of [OnResume].
	ResumeOption interface{ resume(*config) }
	// EventOption is an option of [OnEvent].
	EventOption interface{ event(*config) }
	// DaemonOption is an option of [Daemon].
	DaemonOption interface{ daemon(*config) }
	// TimerOption is an option of [Timer].
	TimerOption interface{ timer(*config) }
	// AdmissionOption is an option of [OnValidate] and [OnMutate].
	AdmissionOption interface{ admission(*config) }
	// ActivityOption is an option of [OnStartup], [OnCleanup], [OnProbe] and [OnLogin].
	ActivityOption interface{ activity(*config) }
	// ReconcileOption is an option of [OnReconcile].
	ReconcileOption interface{ reconcile(*config) }
	// IndexOption is an option of [NewIndex].
	IndexOption interface{ index(*config) }
)

// FilterOption is an option of all handlers of objects. Several filters must all match. See
// [Filters].
//
// [Filters]: https://github.com/kopf-dev/kopf/blob/main/docs/filters.md
type FilterOption interface {
	CreateOption
	UpdateOption
	DeleteOption
	ResumeOption
	EventOption
	DaemonOption
	TimerOption
	ReconcileOption
	IndexOption
	AdmissionOption
}

// RetryOption is an option of handlers that are retried: all except [OnEvent], whose errors are only logged, and
// [OnValidate] and [OnMutate], because the API server waits for their response. See [Limits].
//
// [Limits]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md#limits
type RetryOption interface {
	CreateOption
	UpdateOption
	DeleteOption
	ResumeOption
	DaemonOption
	TimerOption
	ReconcileOption
	ActivityOption
	IndexOption
}

// Option is an option of all handlers. An option that is given twice is a registration error, except [Labels],
// [Annotations] and [When], which are combined.
type Option interface {
	FilterOption
	RetryOption
}

// BackgroundOption is an option of [Daemon] and [Timer].
type BackgroundOption interface {
	DaemonOption
	TimerOption
}

// ID sets the handler's id, under which its progress and its result are stored. For a handler with a field, the operator
// appends the field: "resize/spec.size". Defaults to the name of the function or method. A function literal has no stable
// name and requires an ID. An empty ID is a registration error. See [Ids].
//
// [Ids]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#ids
func ID(id string) Option {
	return once("ID", func(c *config) {
		c.id = id
		if id == "" {
			c.fail("the ID is empty")
		}
	})
}

// Param sets the Param of the handler's requests, to distinguish several registrations of one function.
func Param(value any) Option { return once("Param", func(c *config) { c.Param = value }) }

// ErrorsMode decides what follows a panic, or an error that is neither temporary nor permanent. An ErrorsMode is an
// option. See [Other errors].
//
// [Other errors]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md#other-errors
type ErrorsMode int

// The errors modes.
const (
	ErrorsTemporary ErrorsMode = iota // retry after the [RetryDelay]; the default
	ErrorsPermanent                   // fail permanently
	ErrorsIgnored                     // log, and count as success; the default of [NewIndex]
)

// Attempts limits the number of calls of a handler for one change, including the first one,
// across restarts: Attempts(1) never retries. After the last failed call, the handler has failed permanently, with
// [ErrAttempts]. Defaults to no limit. Less than 1 is a registration error.
func Attempts(n int) RetryOption {
	return once("Attempts", func(c *config) {
		c.Retries = &n
		if n < 1 {
			c.fail("Attempts(%d): want at least 1", n)
		}
	})
}

// RetryDelay sets the delay before a retry after an error without a delay. The delay does not grow with the attempts, see
// [GrowingRetryDelay] for one that does; 0 retries at once. Defaults to [ExecutionSettings].DefaultRetryDelay, 60s. In all options,
// a negative duration is a registration error, and so is a duration between 0 and a millisecond, because its unit is missing.
func RetryDelay(d time.Duration) RetryOption {
	return once("RetryDelay", func(c *config) {
		c.Backoff = c.duration("RetryDelay", d)
		c.checkRetryDelays()
	})
}

// GrowingRetryDelay doubles the delay before each retry after an error without a delay, from first up to most. Each delay is
// up to a fifth shorter or longer, so that objects that fail together are not retried together. The number of attempts is
// stored on the object, so the delay continues to grow after a restart; it starts again with the next change of the object,
// and with the next tick of a timer. An error that has a delay, such as a [TemporaryError], keeps its delay. It is a
// registration error if first is 0, if most is less than first, or if the handler also has a [RetryDelay].
func GrowingRetryDelay(first, most time.Duration) RetryOption {
	return once("GrowingRetryDelay", func(c *config) {
		c.Backoff, c.MaxBackoff = c.duration("GrowingRetryDelay", first), c.duration("GrowingRetryDelay", most)
		switch {
		case first == 0:
			c.fail("GrowingRetryDelay(0, %s) would retry at once for ever; set a first delay", most)
		case most < first:
			c.fail("GrowingRetryDelay(%s, %s): want the first delay before the longest one", first, most)
		}
		c.checkRetryDelays()
	})
}

func (c *config) checkRetryDelays() {
	if c.given["RetryDelay"] && c.given["GrowingRetryDelay"] {
		c.fail("RetryDelay and GrowingRetryDelay are both given; keep one")
	}
}

// AttemptTimeout limits the time of each call of the handler: it cancels the context of the call, with
// [ErrAttemptTimeout] as the cause. If the handler then returns an error, the error wraps [ErrAttemptTimeout], and the
// handler is retried as after other errors. A call that ignores its context is not interrupted. Defaults to no limit. Zero
// is a registration error.
func AttemptTimeout(d time.Duration) RetryOption {
	return once("AttemptTimeout", func(c *config) {
		c.Handler.AttemptTimeout = c.duration("AttemptTimeout", d)
		if d == 0 {
			c.fail("AttemptTimeout(0) would cancel each call before it begins; set a duration")
		}
	})
}

// TotalTimeout limits the time of all attempts together, with the delays between them. As in Kopf for Python, the time
// starts when the operator detects the cause that the handler is called for, so waiting for other handlers or for a restart
// of the operator counts. For daemons, timers and activities, the time starts with the first attempt. When the time is
// over, the context of a running handler is cancelled. If the next attempt would start too late, the handler has failed
// permanently, with [ErrTimeout]. Defaults to no limit.
func TotalTimeout(d time.Duration) RetryOption {
	return once("TotalTimeout", func(c *config) { c.Timeout = c.duration("TotalTimeout", d) })
}

// Reasons limits an [OnField] handler or a sub-handler to some reasons: Reasons(ReasonUpdate)
// excludes objects that are new or being deleted. Defaults to all reasons.
func Reasons(reasons ...Reason) FieldOption {
	return once("Reasons", func(c *config) {
		if len(reasons) == 0 {
			c.fail("Reasons() names no reason; the handler would never be called")
		}
		for _, reason := range reasons {
			if !handlers.Reason(reason).Handled() {
				c.fail("Reasons(%q): want ReasonCreate, ReasonUpdate, ReasonDelete or ReasonResume", reason)
			}
			c.Reasons = append(c.Reasons, handlers.Reason(reason))
		}
	})
}

// WithoutFinalizer makes a deletion handler optional: the operator adds no finalizer for the handler, so the object may be
// removed from the cluster before the handler is called. See [Handlers].
//
// [Handlers]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md
func WithoutFinalizer() DeleteOption {
	return once("WithoutFinalizer", func(c *config) { c.Optional = true })
}

// KeepOnFailure keeps an object whose deletion handler has failed permanently: the finalizer stays, and the object is shown
// as failed until the handler succeeds in a requested retry, or a person removes the finalizer. By default, the operator
// releases the object, as Kopf for Python does. KeepOnFailure cannot be combined with [WithoutFinalizer]. See [Deletions].
//
// [Deletions]: https://github.com/kopf-dev/kopf/blob/main/docs/errors-and-retries.md#deletions-that-fail
func KeepOnFailure() DeleteOption {
	return once("KeepOnFailure", func(c *config) { c.KeepOnFailure = true })
}

// IncludeDeleting makes a resume handler apply to objects that are being deleted, too. By default, these are not resumed.
// See [Resuming].
//
// [Resuming]: https://github.com/kopf-dev/kopf/blob/main/docs/handlers.md#resuming
func IncludeDeleting() ResumeOption {
	return once("IncludeDeleting", func(c *config) { c.Deleted = true })
}

// Interval sets the time from the end of a successful tick to the next one. Defaults to no
// regular ticks. Zero is a registration error.
func Interval(d time.Duration) TimerOption {
	return once("Interval", func(c *config) {
		c.Handler.Interval = c.duration("Interval", d)
		if d == 0 {
			c.fail("Interval(0) would tick without a pause; set a duration")
		}
	})
}

// FixedRate measures the [Interval] from the start of a tick instead of its end. Ticks that would be
// late are skipped.
func FixedRate() TimerOption { return once("FixedRate", func(c *config) { c.Handler.Sharp = true }) }

// Idle makes the timer tick only when the object's essence has not changed for d. When the operator sees the object for
// the first time, this counts as a change. Without an [Interval], the timer ticks once in each idle period. Defaults to
// ticks at any time.
func Idle(d time.Duration) TimerOption {
	return once("Idle", func(c *config) { c.Handler.Idle = c.duration("Idle", d) })
}

// InitialDelay delays the start of a daemon or the first tick of a timer, once for each object in each run of the operator.
// The delay starts when the object matches the filters for the first time. Defaults to 0.
func InitialDelay(d time.Duration) BackgroundOption {
	return once("InitialDelay", func(c *config) { c.Handler.InitialDelay = c.duration("InitialDelay", d) })
}

// Cancellation is an option of [Daemon]: it decides how the operator ends a daemon that must finish. The zero value
// of each field means its default; a negative duration is a registration error.
type Cancellation struct {
	// Backoff is the time from asking a daemon to finish until its context is cancelled. Defaults to 0.
	Backoff time.Duration

	// Timeout is the time from cancelling a daemon's context until the operator abandons the daemon and releases the
	// object. Defaults to no limit.
	Timeout time.Duration

	// Polling is how often the operator checks a daemon that was asked to finish. Defaults to
	// [BackgroundSettings].CancellationPolling, 60s.
	Polling time.Duration
}

func (k Cancellation) daemon(c *config) {
	c.giveOnce("Cancellation")
	given := func(name string, d time.Duration) *time.Duration {
		if d == 0 {
			return nil
		}
		return c.duration("Cancellation."+name, d)
	}
	c.Handler.CancellationBackoff = given("Backoff", k.Backoff)
	c.Handler.CancellationTimeout = given("Timeout", k.Timeout)
	c.Handler.CancellationPolling = given("Polling", k.Polling)
}

// config is the target of options.
type config struct {
	handlers.Handler

	id       string
	whens    []when
	wheres   []where
	errs     []string
	limits   func(*core.Deps) core.CallLimits                      // set by [Limiter]; nil without one, so that the linker omits the code for limits
	versions func(h, other *handlers.Handler, source string) error // set by [Version]
	given    map[string]bool                                       // names of the options that can be given once
}

func (c *config) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

// duration adds a registration error for a negative duration, and for a duration without a unit.
func (c *config) duration(name string, d time.Duration) *time.Duration {
	switch {
	case d < 0:
		c.fail("%s(%s): want a duration that is not negative", name, d)
	case 0 < d && d < time.Millisecond:
		c.fail("%s(%d) is %s: did you mean %d*time.Second?", name, d, d, d)
	}
	return &d
}

func applyAll[O any](opts []O, apply func(O, *config)) *config {
	c := &config{}
	for _, o := range opts {
		apply(o, c)
	}
	return c
}

// option implements the interfaces of all option types. The result type of a constructor restricts the
// option to some families of handlers.
type option func(*config)

// once returns an option that is a registration error if it is given twice, because one of the two would have no effect.
func once(name string, apply func(*config)) option {
	return func(c *config) {
		c.giveOnce(name)
		apply(c)
	}
}

func (c *config) giveOnce(name string) {
	if c.given[name] {
		c.fail("%s is given twice; keep one", name)
	}
	if c.given == nil {
		c.given = map[string]bool{}
	}
	c.given[name] = true
}

func (o option) create(c *config) { o(c) }
func (o option) update(c *config) { o(c) }
func (o option) field(c *config)  { o(c) }
func (o option) delete(c *config) { o(c) }
func (o option) resume(c *config) { o(c) }
func (o option) event(c *config)  { o(c) }
func (o option) daemon(c *config) { o(c) }
func (o option) timer(c *config)  { o(c) }
func (o option) index(c *config)  { o(c) }

func (o option) reconcile(c *config) { o(c) }

func (o option) activity(c *config)  { o(c) }
func (o option) admission(c *config) { o(c) }

func (m ErrorsMode) apply(c *config) {
	c.giveOnce("ErrorsMode")
	c.ErrorsSet = true
	switch m {
	case ErrorsTemporary:
		c.Errors = handlers.ErrorsTemporary
	case ErrorsPermanent:
		c.Errors = handlers.ErrorsPermanent
	case ErrorsIgnored:
		c.Errors = handlers.ErrorsIgnored
	default:
		c.fail("ErrorsMode(%d) is not one of ErrorsTemporary, ErrorsPermanent and ErrorsIgnored", m)
	}
}

func (m ErrorsMode) create(c *config) { m.apply(c) }
func (m ErrorsMode) update(c *config) { m.apply(c) }
func (m ErrorsMode) field(c *config)  { m.apply(c) }
func (m ErrorsMode) delete(c *config) { m.apply(c) }
func (m ErrorsMode) resume(c *config) { m.apply(c) }
func (m ErrorsMode) daemon(c *config) { m.apply(c) }
func (m ErrorsMode) timer(c *config)  { m.apply(c) }
func (m ErrorsMode) index(c *config)  { m.apply(c) }

func (m ErrorsMode) reconcile(c *config) { m.apply(c) }

func (m ErrorsMode) activity(c *config) { m.apply(c) }

var (
	_ RetryOption  = ErrorsTemporary
	_ FilterOption = Labels(nil)
	_ FilterOption = Annotations(nil)
)
