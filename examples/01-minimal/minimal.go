// Package minimal has a single handler, for created objects.
package minimal

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kopf.OnCreate(r, kopf.Resource("kopf.dev/v1", "kopfexamples"), create)
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	fmt.Println("And here we are! Creating:", c.Object.Get("spec"))
	c.Result = map[string]string{"message": "hello world"} // stored at status.create
	return nil
}
