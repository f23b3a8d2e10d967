// Command minimal is an operator without reconcile handlers.
package main

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func main() {
	kopf.Main(func(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), created)
	})
}

func created(context.Context, *kopf.Change[kopf.Object]) error { return nil }
