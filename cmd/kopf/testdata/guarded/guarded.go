// Package guarded has handlers that wait until they are let through.
package guarded

import (
	"context"
	"os"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// gate names the file without which nothing succeeds.
const gate = "KOPF_TEST_GATE"

// Register is called by kopf dev.
func Register(r *kopf.Registry) {
	configMaps := kopf.Resource("v1", "configmaps")
	kopf.OnCreate(r, configMaps, pass, kopf.Labels{"guarded": kopf.Present}, kopf.ID("create"))
	kopf.OnUpdate(r, configMaps, pass, kopf.Labels{"guarded": kopf.Present}, kopf.ID("update"))
	kopf.OnDelete(r, configMaps, release, kopf.Labels{"guarded": kopf.Present}, kopf.ID("release"))
}

func pass(context.Context, *kopf.Change[kopf.Object]) error {
	if _, err := os.Stat(os.Getenv(gate)); err != nil {
		return kopf.Temporaryf(150*time.Minute, "the gate is closed")
	}
	return nil
}

func release(context.Context, *kopf.Change[kopf.Object]) error { return nil }
