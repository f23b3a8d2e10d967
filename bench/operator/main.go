// Operator is the operator that bench/figures measures. It has one handler of created objects
// that stores a result, or an index of the objects, or daemons and timers. It prints a line
// with the time for each call.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	// resumeVariable adds a resume handler. The state of such an operator is that without garbage.
	resumeVariable = "KOPF_BENCH_RESUME"

	// indexVariable makes the operator index the objects only.
	indexVariable = "KOPF_BENCH_INDEX"
)

func main() { kopf.Main(register) }

func register(r *kopf.Registry) {
	examples := kopf.Resource("kopf.dev/v1", "kopfexamples")
	if os.Getenv(indexVariable) != "" {
		o := &indexCheck{byName: kopf.NewIndex(r, examples, byName)}
		kopf.OnEvent(r, kopf.Resource("v1", "namespaces"), o.event)
		return
	}
	switch os.Getenv(admissionVariable) {
	case "":
	case "object":
		kopf.OnValidate(r, examples, checkObject)
		return
	default:
		kopf.OnValidate(r, examples, checkField)
		return
	}
	if os.Getenv(childrenVariable) != "" {
		registerChildren(r, examples)
		return
	}
	if kinds := os.Getenv(backgroundVariable); kinds != "" {
		registerBackground(r, examples, kinds)
		return
	}
	if kind := os.Getenv(limitsVariable); kind != "" {
		registerLimited(r, examples, kind)
		return
	}
	if os.Getenv(stepsVariable) != "" {
		kopf.OnCreate(r, examples, createInSteps)
		return
	}
	kopf.OnCreate(r, examples, create)
	if os.Getenv(resumeVariable) != "" {
		kopf.OnResume(r, examples, resume)
		printState(runtime.GC)
	}
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	printCall(c.Name)
	c.Result = map[string]string{"message": "hello world"}
	return nil
}

func resume(_ context.Context, c *kopf.Change[kopf.Object]) error {
	printCall(c.Name)
	return nil
}

// example is the type that the index function decodes.
type example struct {
	Spec struct {
		Field string `json:"field"`
	} `json:"spec"`
}

// indexCheck reports once that the index is complete.
type indexCheck struct {
	byName *kopf.Index[string, string]
	once   sync.Once
}

func byName(_ context.Context, p *kopf.IndexRequest[example]) (map[string]string, error) {
	return map[string]string{p.Name: p.Object.Spec.Field}, nil
}

// event prints at its first call the number of objects in the index: it is called only after
// the index is complete.
func (o *indexCheck) event(ctx context.Context, _ *kopf.Event[kopf.Object]) error {
	o.once.Do(func() { printCall(fmt.Sprintf("indexed-%d", o.byName.Len(ctx))) })
	return nil
}

// printCall prints the object of a call and the time.
func printCall(name string) { fmt.Println(name, time.Now().UnixNano()) }
