package handlers

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// Outcome is the result of one attempt of a handler.
type Outcome struct {
	// Final means that the handler is not called again in this cause: it has succeeded (Err is nil)
	// or failed permanently (Err is not nil).
	Final bool

	// Delay is the time until the next attempt of a handler that is not final. Nil means at once.
	Delay *time.Duration

	// Waits means that the handler waits for a change, which is no failure. Delay is the limit of the wait; nil if it has none.
	Waits bool

	// Result is the value that the handler returned; nil if it returned none.
	Result any

	// Err is the error of the attempt; nil if there was none.
	Err error

	// Subrefs are the ids of the handler's sub-handlers at all levels, so that their records are
	// purged together with the handler's own.
	Subrefs []string
}

// DefaultBackoff is the delay after an error that names none.
const DefaultBackoff = time.Minute

// ErrorsMode is what follows an error that is neither temporary nor permanent.
type ErrorsMode int

// The modes.
const (
	ErrorsTemporary ErrorsMode = iota // retry after the backoff
	ErrorsPermanent                   // fail permanently
	ErrorsIgnored                     // log, and count as success
)

// Limits are the rules of a handler's retries.
type Limits struct {
	Errors  ErrorsMode
	Retries *int           // maximum number of attempts, including the first; nil means no limit
	Timeout *time.Duration // maximum time since the first attempt, including delays; nil means no limit
	Backoff *time.Duration // delay after arbitrary errors; nil means [DefaultBackoff]

	// MaxBackoff makes the backoff grow: see [Limits.backoff]. Nil means that it is constant.
	MaxBackoff *time.Duration
	// Seed identifies the handler and its object for the jitter of a growing backoff.
	Seed string
}

// LogLine is the log line of an outcome.
type LogLine struct {
	Level   slog.Level
	Message string
}

// Precheck reports whether a handler has reached its limits before it is called. If so, it must
// not be called in any errors mode: it has failed permanently. [Decide] checks the limits ahead,
// so this happens only if another process made attempts, or if more time has passed than was
// expected. The subject is the name of the handler in log lines.
func Precheck(limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine, bool) {
	if limits.Timeout != nil && runtime >= *limits.Timeout {
		out, line := exhausted(ErrTimeout, nil, subject+" has timed out after "+clock(runtime)+".")
		return out, line, true
	}
	if limits.Retries != nil && retries >= *limits.Retries {
		out, line := exhausted(ErrAttempts, nil, subject+" has exceeded "+strconv.Itoa(retries)+" retries.")
		return out, line, true
	}
	return Outcome{}, LogLine{}, false
}

// Decide returns the outcome of an attempt that ended with the error and the result. The retries
// are the number of earlier attempts; the runtime is the time since the first one.
func Decide(err error, result any, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	if err == nil {
		return Outcome{Final: true, Result: result}, LogLine{slog.LevelInfo, subject + " succeeded."}
	}
	switch e := classify(err).(type) { //nolint:errorlint // classify has found the one in the chain
	case *ChildrenRetry:
		return Outcome{Err: err, Delay: e.Delay},
			LogLine{slog.LevelDebug, subject + " has unfinished sub-handlers. Will retry soon."}
	case Waiting:
		out := Outcome{Err: err, Waits: true}
		if limit := e.KopfWait(); limit > 0 {
			out.Delay = &limit
		}
		return out, LogLine{slog.LevelInfo, subject + " waits: " + ErrorText(err)}
	case *limitError:
		return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, ErrorText(err)}
	case Temporary:
		return retryAfterTemporary(e, err, limits, retries, runtime, subject)
	case Permanent:
		return Outcome{Final: true, Err: err},
			LogLine{slog.LevelError, subject + " failed permanently: " + ErrorText(err)}
	default:
		return retryAfterArbitrary(err, limits, retries, runtime, subject)
	}
}

// ahead reports which limits the next attempt would exceed. The handler then fails at once
// instead of waiting for an attempt that would not be made.
func (l Limits) ahead(retries int, runtime, delay time.Duration) (timeout, exceeded bool) {
	return l.Timeout != nil && runtime+delay >= *l.Timeout,
		l.Retries != nil && retries+1 >= *l.Retries
}

func exhausted(limit, cause error, message string) (Outcome, LogLine) {
	err := &limitError{message: message, limit: limit, cause: cause}
	return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, message}
}

// ErrorText returns the text of an error, or its type if the text is empty.
func ErrorText(err error) string {
	if s := err.Error(); s != "" {
		return s
	}
	switch e := err.(type) { //nolint:errorlint // the type of the error that was marked
	case *permanentError:
		err = e.error
	case *temporaryError:
		err = e.error
	case *retriedError:
		err = e.error
	case *denial:
		err = e.error
	case *waitingError:
		err = e.error
	}
	return fmt.Sprintf("%T", err)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// clock formats a duration as Kopf for Python does in logs and records: "0:01:40",
// "1 day, 0:00:00.500000".
func clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Microsecond)
	var b strings.Builder
	const day = 24 * time.Hour
	if days := d / day; days > 0 {
		fmt.Fprintf(&b, "%d day", days)
		if days > 1 {
			b.WriteByte('s')
		}
		b.WriteString(", ")
	}
	d %= day
	fmt.Fprintf(&b, "%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
	if micros := d % time.Second / time.Microsecond; micros > 0 {
		fmt.Fprintf(&b, ".%06d", micros)
	}
	return b.String()
}
