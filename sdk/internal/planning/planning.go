// Package planning is the operator's part of "kopf plan", which runs the operator on a copy of its objects. Nothing here has an effect
// unless [inspect.PlanVariable] is set.
package planning

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Calls is the maximum number of calls of a handler for one object; 0 if the operator does not run for a plan. Tests may set it before
// they start an operator.
var Calls = readCalls(os.Getenv(inspect.PlanVariable))

// readCalls returns 1 for a value that is no positive number, so that an operator in a plan never runs as outside of a plan.
func readCalls(value string) int {
	if value == "" {
		return 0
	}
	n, err := strconv.Atoi(value)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// On reports whether the operator runs for a plan.
func On() bool { return Calls > 0 }

type authorKey struct{}

// WithAuthor returns a context whose requests belong to an attempt of a handler. Attempts count from 1.
func WithAuthor(ctx context.Context, handler, uid string, attempt int) context.Context {
	if !On() {
		return ctx
	}
	return context.WithValue(ctx, authorKey{}, fmt.Sprintf("%s %s %d", handler, uid, attempt))
}

// Sign returns a request with a header that names its author.
func Sign(req *http.Request) *http.Request {
	if !On() {
		return req
	}
	author, ok := req.Context().Value(authorKey{}).(string)
	if !ok {
		author = inspect.PlanEngine
	}
	signed := req.Clone(req.Context()) // a RoundTripper must not modify the request
	signed.Header.Set(inspect.PlanHeader, author)
	return signed
}

// Delay returns the delay after an unsuccessful attempt: none before the last call, and otherwise one that outlasts the plan. Attempts
// count from 1.
func Delay(attempt int, delay *time.Duration) *time.Duration {
	switch {
	case !On():
		return delay
	case attempt < Calls:
		return nil
	}
	later := inspect.PlanLater
	if delay != nil {
		later += *delay
	}
	return &later
}

// CheckStep returns an error if steps must not be called.
func CheckStep() error {
	if !On() {
		return nil
	}
	return errStep
}

var errStep = errors.New(inspect.PlanStep)
