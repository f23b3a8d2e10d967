// Command embedded runs an operator as a part of another program.
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
	if err := run(ctx, &kopf.Operator{}, os.Stdout, work); err != nil {
		log.Fatal(err)
	}
}

// run does the work of the program while an operator runs beside it.
func run(ctx context.Context, operator *kopf.Operator, out io.Writer, work func(context.Context, io.Writer) error) error {
	operator.Registry = &kopf.Registry{}
	register(operator.Registry)
	// What is in the operator's memo is in the memos of all objects.
	*kopf.MemoOf[greeter](&operator.Memo) = greeter{hello: "Hello, {name}!", goodbye: "Good bye, {name}!", out: out}
	ready := make(chan struct{})
	operator.OnReady = func() { close(ready) }

	operating, stop := context.WithCancel(ctx)
	defer stop()
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Run(operating)
		cancel() // whatever the operator has ended for: the work does not go on without it
	}()
	select {
	case <-ready:
	case err := <-ended:
		return err // it cannot start; nil if it was told to stop before it was ready
	}
	err := work(working, out)
	stop() // and it ends gracefully
	return errors.Join(err, <-ended)
}

// work is what the program is made for.
func work(ctx context.Context, out io.Writer) error {
	for step := range 10 {
		if _, err := fmt.Fprintf(out, "Do the main app activity here. Step %d/10.\n", step+1); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return nil // somebody wants it to end
		}
	}
	return nil
}

func register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, kex, created)
	kopf.OnDelete(r, kex, deleted)
}

// greeter is how handlers reach the rest of the program.
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
