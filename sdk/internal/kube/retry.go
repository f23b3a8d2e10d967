package kube

import (
	"context"
	"errors"
	"time"
)

// retry calls attempt until it succeeds, fails with an error that is not retriable, or the
// backoffs end. It returns the error of the last attempt.
func (c *Client) retry(ctx context.Context, r *Request, attempt func() error) error {
	defer BeginRequest(ctx)()
	err := attempt()
	if err == nil || isAbsent(err) {
		return err
	}
	return c.again(ctx, r, attempt, err)
}

// again makes the attempts after the first one. It is a separate function because the loop over the backoffs allocates
// memory, which successful requests avoid.
func (c *Client) again(ctx context.Context, r *Request, attempt func() error, err error) error {
	attempts, failed, end := 1, func() {}, func(error) {}
	defer func() { end(err) }()
	for backoff := range c.options.Backoffs {
		if err == nil || ctx.Err() != nil || !Retriable(err) || (r.anyAnswer && isAnswer(err)) {
			return err
		}
		delay := c.delay(backoff, err)
		c.options.Logger.DebugContext(ctx, "API request failed; retrying", "error", err, "delay", delay)
		switch {
		case c.retrying != nil:
			c.retrying(Retry{Err: err, Delay: delay})
		case attempts == 1:
			failed, end = c.outages.begin(ctx, c.options.Logger, err, delay)
		}
		if !sleep(ctx, delay) {
			return err
		}
		if err = attempt(); err != nil {
			failed()
		}
		attempts++
	}
	return err
}

// isAnswer reports whether the error is in the server's response.
func isAnswer(err error) bool { return Status(err) != 0 || errors.Is(err, errGarbled) }

func (c *Client) delay(backoff time.Duration, err error) time.Duration {
	asked, ok := RetryAfter(err)
	switch {
	case !ok:
		return backoff
	case c.options.EnforceRetryAfter:
		return asked
	default:
		return max(backoff, asked)
	}
}

// sleep reports whether the delay passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
