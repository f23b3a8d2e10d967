package handlers

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// DefaultBackoff is the delay after an error that names none.
const DefaultBackoff = time.Minute

// ErrorsMode is what to make of arbitrary errors: neither temporary nor permanent ones.
type ErrorsMode int

// The modes.
const (
	ErrorsTemporary ErrorsMode = iota // try again after the backoff
	ErrorsPermanent                   // fail for good
	ErrorsIgnored                     // log, and regard the handler as done
)

// Limits are a handler's rules of trying again.
type Limits struct {
	Errors  ErrorsMode
	Retries *int           // attempts at most, the first included; nil is no limit
	Timeout *time.Duration // from the first attempt, all delays included; nil is no limit
	Backoff *time.Duration // after arbitrary errors; nil is [DefaultBackoff]
}

// LogLine is what to log about an outcome.
type LogLine struct {
	Level   slog.Level
	Message string
}

// Precheck tells whether a handler has met its limits before it is called: in any errors
// mode, it must not be called then, and has failed for good. This happens when attempts
// were made by somebody else, or when more time has passed than was foreseen: otherwise
// [Decide] looks ahead. The subject is how the handler is named in the log.
func Precheck(limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine, bool) {
	if limits.Timeout != nil && runtime >= *limits.Timeout {
		out, line := exhausted(ErrTimeout, nil, subject+" has timed out after "+clock(runtime)+".")
		return out, line, true
	}
	if limits.Retries != nil && retries >= *limits.Retries {
		out, line := exhausted(ErrRetries, nil, subject+" has exceeded "+strconv.Itoa(retries)+" retries.")
		return out, line, true
	}
	return Outcome{}, LogLine{}, false
}

// Decide tells what an attempt means that has ended with the error and the result. The
// retries are the attempts before this one; the runtime is the time since the first.
func Decide(err error, result any, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	if err == nil {
		return Outcome{Final: true, Result: result}, LogLine{slog.LevelInfo, subject + " succeeded."}
	}
	switch e := classify(err).(type) { //nolint:errorlint // classify has found the one in the chain
	case *ChildrenRetry:
		return Outcome{Err: err, Delay: e.Delay},
			LogLine{slog.LevelDebug, subject + " has unfinished sub-handlers. Will retry soon."}
	case *limitError:
		return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, text(err)}
	case Temporary:
		return decideTemporary(e, err, limits, retries, runtime, subject)
	case Permanent:
		return Outcome{Final: true, Err: err},
			LogLine{slog.LevelError, subject + " failed permanently: " + text(err)}
	default:
		return decideArbitrary(err, limits, retries, runtime, subject)
	}
}

func decideTemporary(e Temporary, err error, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	delay, given := e.KopfDelay()
	if !given {
		delay = DefaultBackoff
	}
	switch timeout, exceeded := limits.ahead(retries, runtime, max(delay, 0)); {
	case timeout:
		return exhausted(ErrTimeout, err, fmt.Sprintf("%s failed temporarily but will time out after %s seconds: %s",
			subject, seconds(*limits.Timeout), text(err)))
	case exceeded:
		return exhausted(ErrRetries, err, fmt.Sprintf("%s failed temporarily but will exceed %d retries: %s",
			subject, *limits.Retries, text(err)))
	}
	out := Outcome{Err: err}
	if delay >= 0 {
		out.Delay = &delay
	}
	return out, LogLine{slog.LevelError, subject + " failed temporarily: " + text(err)}
}

func decideArbitrary(err error, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	failed := subject + " failed with an exception and will "
	switch limits.Errors {
	case ErrorsIgnored:
		return Outcome{Final: true}, LogLine{slog.LevelError, failed + "ignore it: " + text(err)}
	case ErrorsPermanent:
		return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, failed + "stop now: " + text(err)}
	}
	backoff := DefaultBackoff
	if limits.Backoff != nil {
		backoff = *limits.Backoff
	}
	switch timeout, exceeded := limits.ahead(retries, runtime, backoff); {
	case timeout:
		return exhausted(ErrTimeout, err, fmt.Sprintf("%sstop now (it would time out in %s seconds on the next attempt): %s",
			failed, seconds(*limits.Timeout), text(err)))
	case exceeded:
		return exhausted(ErrRetries, err, fmt.Sprintf("%sstop now (it would exceed %d retries on the next attempt): %s",
			failed, *limits.Retries, text(err)))
	}
	return Outcome{Err: err, Delay: &backoff},
		LogLine{slog.LevelError, failed + "try again in " + seconds(backoff) + " seconds: " + text(err)}
}

// ahead tells which limits the next attempt would meet. To know it now saves the wait for
// an attempt that would not be made.
func (l Limits) ahead(retries int, runtime, delay time.Duration) (timeout, exceeded bool) {
	return l.Timeout != nil && runtime+delay >= *l.Timeout,
		l.Retries != nil && retries+1 >= *l.Retries
}

func exhausted(limit, cause error, message string) (Outcome, LogLine) {
	err := &limitError{message: message, limit: limit, cause: cause}
	return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, message}
}

// text is an error in words, even if it has none.
func text(err error) string {
	if s := err.Error(); s != "" {
		return s
	}
	switch e := err.(type) { //nolint:errorlint // what was made of an error is not what it is
	case *permanentError:
		err = e.error
	case *temporaryError:
		err = e.error
	}
	return fmt.Sprintf("%T", err)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }

// clock shows a time span as Python operators do in their logs and records: "0:01:40",
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
