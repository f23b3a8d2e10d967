package handlers

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strconv"
	"time"
)

// retryAfterTemporary returns the outcome of an attempt that waits for something: it is retried after the delay that the
// error names, unless that would exceed a limit.
func retryAfterTemporary(e Temporary, err error, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	delay, given := e.KopfDelay()
	if !given {
		delay = DefaultBackoff
		if _, backsOff := e.(*retriedError); backsOff { //nolint:errorlint // the error that classify found in the chain
			delay = limits.backoff(retries)
		}
	}
	switch timeout, exceeded := limits.ahead(retries, runtime, max(delay, 0)); {
	case timeout:
		return exhausted(ErrTimeout, err, fmt.Sprintf("%s failed temporarily but will time out after %s seconds: %s",
			subject, seconds(*limits.Timeout), ErrorText(err)))
	case exceeded:
		return exhausted(ErrAttempts, err, fmt.Sprintf("%s failed temporarily but will exceed %d retries: %s",
			subject, *limits.Retries, ErrorText(err)))
	}
	out := Outcome{Err: err}
	if delay >= 0 {
		out.Delay = &delay
	}
	return out, LogLine{slog.LevelInfo, subject + " failed temporarily: " + ErrorText(err)} // the text of Kopf for Python
}

// retryAfterArbitrary returns the outcome of an attempt that failed with any other error: it is retried
// after the backoff, unless that would exceed a limit or the errors are ignored or permanent.
func retryAfterArbitrary(err error, limits Limits, retries int, runtime time.Duration, subject string) (Outcome, LogLine) {
	failed := subject + " failed with an exception and will "
	switch limits.Errors {
	case ErrorsIgnored:
		return Outcome{Final: true}, LogLine{slog.LevelError, failed + "ignore it: " + ErrorText(err)}
	case ErrorsPermanent:
		return Outcome{Final: true, Err: err}, LogLine{slog.LevelError, failed + "stop now: " + ErrorText(err)}
	}
	backoff := limits.backoff(retries)
	switch timeout, exceeded := limits.ahead(retries, runtime, backoff); {
	case timeout:
		return exhausted(ErrTimeout, err, fmt.Sprintf("%sstop now (it would time out in %s seconds on the next attempt): %s",
			failed, seconds(*limits.Timeout), ErrorText(err)))
	case exceeded:
		return exhausted(ErrAttempts, err, fmt.Sprintf("%sstop now (it would exceed %d retries on the next attempt): %s",
			failed, *limits.Retries, ErrorText(err)))
	}
	grows := ""
	if limits.MaxBackoff != nil {
		grows = " (growing up to " + seconds(*limits.MaxBackoff) + ")"
	}
	return Outcome{Err: err, Delay: &backoff},
		LogLine{slog.LevelError, failed + "try again in " + seconds(backoff) + " seconds" + grows + ": " + ErrorText(err)}
}

// backoff returns the delay after an arbitrary error. The retries are the number of earlier attempts. A growing backoff doubles
// with each of them up to the maximum, and is then made up to a fifth shorter or longer, so that objects that fail together
// are not retried together. This jitter only depends on the seed and on the number of attempts, because a restarted operator
// must decide as the previous one.
func (l Limits) backoff(retries int) time.Duration {
	delay := DefaultBackoff
	if l.Backoff != nil {
		delay = *l.Backoff
	}
	if l.MaxBackoff == nil {
		return delay
	}
	for range retries {
		if delay >= *l.MaxBackoff {
			break
		}
		delay *= 2
	}
	delay = min(delay, *l.MaxBackoff)
	hash := sha256.Sum256([]byte(l.Seed + " " + strconv.Itoa(retries)))
	part := float64(binary.BigEndian.Uint32(hash[:])) / (1 << 32)
	return time.Duration(float64(delay) * (0.8 + 0.4*part)).Truncate(time.Millisecond)
}
