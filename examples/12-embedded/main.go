// Command embedded runs an operator inside another program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, &kopf.Operator{AllNamespaces: true}, os.Stdout, work); err != nil {
		log.Fatal(err)
	}
}

// run runs an operator and, while it is ready, the work of the program.
func run(ctx context.Context, operator *kopf.Operator, out io.Writer, work func(context.Context, io.Writer) error) error {
	operator.Registry = &kopf.Registry{}
	register(operator.Registry)
	// The memos of all objects inherit the operator's memo.
	kopf.SetMemo(&operator.Memo, &greeter{hello: "Hello, {name}!", goodbye: "Good bye, {name}!", out: out})
	ready := make(chan struct{})
	operator.OnReady = func() { close(ready) }

	operatorCtx, stop := context.WithCancel(ctx)
	defer stop()
	workCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(operatorCtx)
		cancel() // the work must not continue without the operator
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err // the operator failed to start; nil if it was stopped before it was ready
	}
	err := work(workCtx, out)
	stop() // stop the operator gracefully
	return errors.Join(err, <-ended)
}

// work is the main activity of the program.
func work(ctx context.Context, out io.Writer) error {
	for step := range 10 {
		if _, err := fmt.Fprintf(out, "Do the main app activity here. Step %d/10.\n", step+1); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil // the program is stopping
		}
	}
	return nil
}

func register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, created)
	kopf.OnDelete(r, kex, deleted)
}

// greeter connects the handlers with the rest of the program.
type greeter struct {
	hello, goodbye string
	out            io.Writer
}

func created(_ context.Context, c *kopf.Change[kopf.Object]) error {
	g := kopf.MemoOf[greeter](c.Memo)
	return g.say(g.hello, c.Name)
}

func deleted(_ context.Context, c *kopf.Change[kopf.Object]) error {
	g := kopf.MemoOf[greeter](c.Memo)
	return g.say(g.goodbye, c.Name)
}

func (g *greeter) say(template, name string) error {
	_, err := fmt.Fprintln(g.out, strings.ReplaceAll(template, "{name}", name))
	return err
}
