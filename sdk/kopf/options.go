package kopf

import (
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// Each family of handlers has its kind of option, and each option says by its type
// which families have it: [Retries] of an event handler do not compile.
type (
	// CreateOption is an option of [OnCreate].
	CreateOption interface{ create(*config) }
	// UpdateOption is an option of [OnUpdate], [OnField] and sub-handlers.
	UpdateOption interface{ update(*config) }
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
	// ActivityOption is an option of [OnStartup], [OnCleanup], [OnProbe] and [OnLogin].
	ActivityOption interface{ activity(*config) }
	// IndexOption is an option of [NewIndex].
	IndexOption interface{ index(*config) }
)

// A FilterOption is for all handlers of objects. Several filters must all match.
type FilterOption interface {
	CreateOption
	UpdateOption
	DeleteOption
	ResumeOption
	EventOption
	DaemonOption
	TimerOption
	IndexOption
}

// A RetryOption is for all handlers that are tried again: not for [OnEvent], whose
// errors are only logged.
type RetryOption interface {
	CreateOption
	UpdateOption
	DeleteOption
	ResumeOption
	DaemonOption
	TimerOption
	ActivityOption
	IndexOption
}

// An Option is for all handlers.
type Option interface {
	FilterOption
	RetryOption
}

// A BackgroundOption is for daemons and timers.
type BackgroundOption interface {
	DaemonOption
	TimerOption
}

// ID sets the handler's id, by which its progress is stored and its result shown. A field
// is put behind it: "resize/spec.size". The default is the name of the function or method;
// a function literal has no name that lasts, and must have an ID. An empty one is a mistake
// in the registration.
func ID(id string) Option {
	return option(func(c *config) {
		c.id = id
		if id == "" {
			c.fail("ID is empty")
		}
	})
}

// Param sets the Param of the handler's requests, to tell apart the registrations
// of one function.
func Param(value any) Option { return option(func(c *config) { c.Param = value }) }

// An ErrorsMode tells what to do about errors that are neither temporary nor
// permanent by themselves, panics included. It is an option. See the chapter "Error
// handling" of Kopf's documentation for it and the limits below.
type ErrorsMode int

// The modes.
const (
	ErrorsTemporary ErrorsMode = iota // try again after the [Backoff]: the default
	ErrorsPermanent                   // give up
	ErrorsIgnored                     // log and regard as success: the default of [NewIndex]
)

// Retries limits how often a handler is called for one change, the first time included,
// across restarts. When the last call fails, the handler has failed for good, with
// [ErrRetries]. The default is no limit; less than one is a mistake in the registration.
func Retries(n int) RetryOption {
	return option(func(c *config) {
		c.Retries = &n
		if n < 1 {
			c.fail("Retries(%d): at least one call is needed", n)
		}
	})
}

// Backoff sets the delay after an error that names none. The default is
// [Settings.Execution.DefaultBackoff], a minute. Here and below, a negative duration, and one
// so short that a unit must have been forgotten, is a mistake in the registration.
func Backoff(d time.Duration) RetryOption {
	return option(func(c *config) { c.Backoff = c.duration("Backoff", d) })
}

// Timeout limits the time since the first attempt, all attempts and delays
// included. The handler's context ends with it, and when the next attempt would come too
// late, the handler has failed for good, with [ErrTimeout]. The default is no limit.
func Timeout(d time.Duration) RetryOption {
	return option(func(c *config) { c.Timeout = c.duration("Timeout", d) })
}

// Reasons limits a handler of [OnField], which is otherwise called for whatever happens
// to the field, and a sub-handler to some reasons: Reasons(ReasonUpdate) passes over new
// objects and those that are being deleted.
func Reasons(reasons ...Reason) UpdateOption {
	return option(func(c *config) {
		if len(reasons) == 0 {
			c.fail("Reasons() names no reason, so that the handler would never be called")
		}
		for _, reason := range reasons {
			if !handlers.Reason(reason).Handled() {
				c.fail("Reasons(%q): want ReasonCreate, ReasonUpdate, ReasonDelete or ReasonResume", reason)
			}
			c.Reasons = append(c.Reasons, handlers.Reason(reason))
		}
	})
}

// Optional says that a deletion may go on without the handler: it does not make the
// operator put its finalizer on objects. See the chapter "Handlers" of Kopf's documentation.
func Optional() DeleteOption { return option(func(c *config) { c.Optional = true }) }

// Deleted says to resume also objects that are being deleted; otherwise nothing is
// started for what is on its way out. See the chapter "Handlers" of Kopf's documentation.
func Deleted() ResumeOption { return option(func(c *config) { c.Deleted = true }) }

// Interval sets the time from the end of a tick that has succeeded to the next one. There
// is none by default; zero is a mistake in the registration.
func Interval(d time.Duration) TimerOption {
	return option(func(c *config) {
		c.Handler.Interval = c.duration("Interval", d)
		if d == 0 {
			c.fail("Interval(0) would tick without a pause")
		}
	})
}

// Sharp measures the [Interval] from the start of a tick. Ticks that would be late are
// skipped.
func Sharp() TimerOption { return option(func(c *config) { c.Handler.Sharp = true }) }

// Idle says to tick only when the object has not changed in what matters, which its
// appearance is too, for a time. With no [Interval], there is one tick until the object
// changes again. There is none by default.
func Idle(d time.Duration) TimerOption {
	return option(func(c *config) { c.Handler.Idle = c.duration("Idle", d) })
}

// InitialDelay postpones the start of a daemon or the first tick of a timer, once for
// each object and each life of the operator: from the moment at which the object matches
// first. The default is none.
func InitialDelay(d time.Duration) BackgroundOption {
	return option(func(c *config) { c.Handler.InitialDelay = c.duration("InitialDelay", d) })
}

// CancellationBackoff is the time from asking a daemon to finish to cancelling its
// context. The default is none.
func CancellationBackoff(d time.Duration) DaemonOption {
	return option(func(c *config) { c.Handler.CancellationBackoff = c.duration("CancellationBackoff", d) })
}

// CancellationTimeout is the time from cancelling a daemon's context to abandoning
// the daemon and releasing the object. The default is to wait for as long as it takes.
func CancellationTimeout(d time.Duration) DaemonOption {
	return option(func(c *config) { c.Handler.CancellationTimeout = c.duration("CancellationTimeout", d) })
}

// CancellationPolling sets how often a daemon that should be gone is looked after.
// The default is [Settings.Background.CancellationPolling].
func CancellationPolling(d time.Duration) DaemonOption {
	return option(func(c *config) { c.Handler.CancellationPolling = c.duration("CancellationPolling", d) })
}

// config is what options write to.
type config struct {
	handlers.Handler

	id    string
	whens []when
	errs  []string
}

func (c *config) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Sprintf(format, args...))
}

// duration refuses what is a number of seconds by mistake.
func (c *config) duration(name string, d time.Duration) *time.Duration {
	switch {
	case d < 0:
		c.fail("%s(%s) is negative", name, d)
	case 0 < d && d < time.Microsecond:
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

// option implements all the interfaces; a constructor's result type narrows it.
type option func(*config)

func (o option) create(c *config) { o(c) }
func (o option) update(c *config) { o(c) }
func (o option) delete(c *config) { o(c) }
func (o option) resume(c *config) { o(c) }
func (o option) event(c *config)  { o(c) }
func (o option) daemon(c *config) { o(c) }
func (o option) timer(c *config)  { o(c) }
func (o option) index(c *config)  { o(c) }

func (o option) activity(c *config) { o(c) }

func (m ErrorsMode) apply(c *config) {
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
func (m ErrorsMode) delete(c *config) { m.apply(c) }
func (m ErrorsMode) resume(c *config) { m.apply(c) }
func (m ErrorsMode) daemon(c *config) { m.apply(c) }
func (m ErrorsMode) timer(c *config)  { m.apply(c) }
func (m ErrorsMode) index(c *config)  { m.apply(c) }

func (m ErrorsMode) activity(c *config) { m.apply(c) }

var (
	_ RetryOption  = ErrorsTemporary
	_ FilterOption = Labels(nil)
	_ FilterOption = Annotations(nil)
)
