// Package minimal handles the creation of objects, and nothing else.
package minimal

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register is what kopf dev and kopf run look for.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	fmt.Println("And here we are! Creating:", c.Object.Get("spec"))
	c.Result = map[string]string{"message": "hello world"} // will be at status.create
	return nil
}
