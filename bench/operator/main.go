// Operator is what bench/figures measures: the smallest operator, and a clock. It has
// one handler of created objects, which stores a result as most handlers do; or an index
// of the objects, and nothing else for them; or daemons and timers.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	// resumeVariable makes the operator resume objects, too.
	resumeVariable = "KOPF_BENCH_RESUME"

	// indexVariable makes the operator index objects, and do nothing else.
	indexVariable = "KOPF_BENCH_INDEX"
)

func main() { kopf.Main(register) }

func register(r *kopf.Registry) {
	examples := kopf.Resource("kopf.dev/v1", "kopfexamples")
	if os.Getenv(indexVariable) != "" {
		o := &overview{byName: kopf.NewIndex(r, examples, byName)}
		kopf.OnEvent(r, kopf.Resource("v1", "namespaces"), o.event)
		return
	}
	if os.Getenv(backgroundVariable) != "" {
		registerBackground(r, examples)
		return
	}
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

// example is what an indexing function decodes.
type example struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
}

// overview is the index, and whether it was told that it is complete.
type overview struct {
	byName *kopf.Index[string, string]
	once   sync.Once
}

func byName(_ context.Context, p *kopf.IndexRequest[example]) (map[string]string, error) {
	return map[string]string{p.Name: p.Object.Spec.Field}, nil
}

// event tells at its first call how many objects are in the index: all of them, though it is
// for another resource.
func (o *overview) event(ctx context.Context, _ *kopf.Event[kopf.Object]) error {
	o.once.Do(func() { tell(fmt.Sprintf("indexed-%d", o.byName.Len(ctx))) })
	return nil
}

// tell prints when a handler was called for an object.
func tell(name string) { fmt.Println(name, time.Now().UnixNano()) }
