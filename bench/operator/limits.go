package main

import (
	"context"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	// limitsVariable makes the operator have a handler of created objects whose calls are limited, "slots" or "rate", and a handler
	// without a limit for the objects with liveAnnotation.
	limitsVariable = "KOPF_BENCH_LIMITS"

	liveAnnotation = "live"

	// callTime is the duration of a call that needs a slot.
	callTime = 10 * time.Millisecond
)

func registerLimited(r *kopf.Registry, examples kopf.Selector, kind string) {
	kopf.OnCreate(r, examples, createLive, kopf.Annotations{liveAnnotation: kopf.Present})
	waiting := kopf.Annotations{liveAnnotation: kopf.Absent}
	if kind == "rate" {
		kopf.OnCreate(r, examples, createLimited, waiting, kopf.Limit(100).Rate(10, time.Second))
		return
	}
	kopf.OnCreate(r, examples, createLimited, waiting, kopf.Limit(2))
}

func createLive(_ context.Context, c *kopf.Change[kopf.Object]) error {
	printCall(c.Name)
	return nil
}

// createLimited prints the beginning and the end of the call. A call prints its end before another call can get its slot.
func createLimited(_ context.Context, c *kopf.Change[kopf.Object]) error {
	printCall("begin-" + c.Name)
	time.Sleep(callTime)
	printCall("end-" + c.Name)
	return nil
}
