// Package kopf is a fake of the SDK for tests of the runner: it implements the contract
// between the runner and an operator's program, but handles no objects.
package kopf

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/inspector"
)

// Registry configures what the fake operator does.
type Registry struct {
	objects       []inspect.Object
	prints        []string
	crash         func()
	fail          string
	ignoreSignals bool
	noInspector   bool
	settleOn      inspect.IntentKind
	exit          *int
	admits        bool
	webhook       inspect.WebhookState
}

// Review makes the operator publish a webhook for the things, in the state.
func (r *Registry) Review(state string) { r.webhook = inspect.WebhookState(state) }

// Admit registers an admission handler, which needs a tunnel.
func (r *Registry) Admit() { r.admits = true }

// Publish makes the operator publish an object in the state.
func (r *Registry) Publish(name, state string) {
	r.objects = append(r.objects, inspect.Object{
		Ref:             inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: name, UID: name},
		ResourceVersion: "5",
		State:           inspect.ObjectState(state),
	})
}

// Print makes the operator print a line to its standard output.
func (r *Registry) Print(line string) { r.prints = append(r.prints, line) }

// Crash makes the operator call the function in a goroutine.
func (r *Registry) Crash(f func()) { r.crash = f }

// Fail makes the operator print the message and exit with 1.
func (r *Registry) Fail(message string) { r.fail = message }

// Exit makes the operator's code end the process.
func (r *Registry) Exit(code int) { r.exit = &code }

// noteRunning notes that the program runs, and returns a function that notes its end.
func noteRunning() (ended func()) {
	path := os.Getenv("KOPF_EXIT_NOTE")
	if path == "" {
		return func() {}
	}
	note := func(state string) {
		if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
			panic(err)
		}
	}
	note("running")
	return func() { note("ended") }
}

// IgnoreSignals makes the operator ignore SIGTERM and SIGINT.
func (r *Registry) IgnoreSignals() { r.ignoreSignals = true }

// WithoutInspector makes the operator run without an inspector, as it does if it cannot
// listen at the address.
func (r *Registry) WithoutInspector() { r.noInspector = true }

// SettleOn makes the operator settle all objects when it gets the intent.
func (r *Registry) SettleOn(intent string) { r.settleOn = inspect.IntentKind(intent) }

// Main runs the operator.
func Main(register func(*Registry)) {
	var r Registry
	register(&r)
	address := flag.String("inspect", "", "")
	listen := flag.String("webhook-listen", "", "")
	for _, name := range []string{"kubeconfig", "context", "log-format", "namespace"} {
		flag.String(name, "", "")
	}
	flag.Parse()
	ended := noteRunning()
	defer ended()
	if r.exit != nil {
		os.Exit(*r.exit)
	}
	if r.admits && *listen == "" && os.Getenv("KOPF_WAY_IN") != "" {
		if err := os.WriteFile(os.Getenv("KOPF_EXIT_NOTE"), []byte("wants a way in"), 0o600); err != nil {
			panic(err)
		}
		os.Exit(1)
	}
	if r.fail != "" {
		ended()
		fmt.Fprintln(os.Stderr, r.fail)
		os.Exit(1)
	}
	fmt.Println("arguments: " + strings.Join(os.Args[1:], " "))

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	if r.ignoreSignals {
		stop()
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT)
		ctx, stop = context.WithCancel(context.Background())
	}
	defer stop()
	for _, line := range r.prints { // tests send signals when they see them
		fmt.Println(line)
	}
	if os.Getenv("KOPF_STDIN_GUARD") == "1" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stop()
		}()
	}

	var hub *inspector.Hub
	hub = inspector.NewHub(inspector.HubOptions{Intents: func(in inspect.Intent) inspect.Reply {
		switch in.Kind {
		case inspect.IntentPause:
			return inspect.Reply{OK: true}
		case r.settleOn:
			for _, o := range r.objects {
				o.State = inspect.StateSettled
				hub.PutObject(o)
			}
			return inspect.Reply{OK: true}
		}
		return inspect.Reply{Error: "nothing to " + string(in.Kind)}
	}})
	served := inspect.Served{Resources: []inspect.Resource{{Key: "things.v1.example.com", Listed: true}}}
	if r.webhook != "" {
		served.Reviewed = []string{"things.v1.example.com"}
		hub.SetAdmission(inspect.Admission{Webhooks: []inspect.Webhook{{
			Handler: "check", Kind: inspect.KindValidate, State: r.webhook, Rules: []inspect.WebhookRule{{Resource: "things.v1.example.com"}},
		}}})
	}
	hub.SetServed(served)
	for _, o := range r.objects {
		hub.PutObject(o)
	}
	hub.Log(inspect.LogLine{At: time.Now(), Level: inspect.LevelInfo, Message: "started"})
	hub.UpdateOperator(func(o *inspect.Operator) {
		o.PID, o.State, o.Settled = os.Getpid(), inspect.OperatorRunning, true
	})
	if r.crash != nil {
		go r.crash()
	}
	if *address != "" && !r.noInspector {
		serving, end := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- inspector.Serve(serving, *address, hub) }()
		<-ctx.Done()
		hub.Log(inspect.LogLine{At: time.Now(), Level: inspect.LevelInfo, Message: "stopped"})
		hub.Bye("signal")
		end()
		if err := <-served; err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	<-ctx.Done()
}
