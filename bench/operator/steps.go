package main

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// stepsVariable makes the handler of created objects have three steps and no result.
const stepsVariable = "KOPF_BENCH_STEPS"

func createInSteps(ctx context.Context, c *kopf.Change[kopf.Object]) error {
	printCall(c.Name)
	for n := range 3 {
		if _, err := kopf.Step(ctx, c, fmt.Sprint("step-", n), func(_ context.Context, key kopf.StepKey) (string, error) {
			return key.Name("thing", 63), nil
		}); err != nil {
			return err
		}
	}
	return nil
}
