// Operator is what bench/figures measures: the smallest operator, and a clock. It has
// one handler of created objects, which stores a result as most handlers do.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// resumeVariable makes the operator resume objects, too.
const resumeVariable = "KOPF_BENCH_RESUME"

func main() { kopf.Main(register) }

func register(r *kopf.Registry) {
	examples := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, examples, create)
	if os.Getenv(resumeVariable) != "" {
		kopf.OnResume(r, examples, resume)
	}
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	tell(c.Name)
	c.Result = map[string]string{"message": "hello world"}
	return nil
}

func resume(_ context.Context, c *kopf.Change[kopf.Object]) error {
	tell(c.Name)
	return nil
}

// tell prints when a handler was called for an object.
func tell(name string) { fmt.Println(name, time.Now().UnixNano()) }
