package kopf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/kopf/logging"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Main runs an operator as a program, until SIGINT or SIGTERM; a second signal ends it at once. It does not return:
// the exit code is 0 after a graceful stop, 1 after a failure or a panic in register, and 2 for invalid flags. Unless
// GOGC is set in the environment, Main collects garbage when it reaches three quarters of the heap in use, and at
// least 10 MB, and returns unused memory to the system when the operator rests. Main accepts the flags of "kopf run" that
// concern the operator itself: see [Command line].
//
//	func main() { kopf.Main(Register) }
//
// With "uninstall" as its first argument, the program does not run the operator, but removes the operator's
// finalizers, webhook configurations, peering records and leases from the cluster. See [Uninstall].
//
// [Uninstall]: https://github.com/kopf-dev/kopf/blob/main/docs/uninstall.md
// [Command line]: https://github.com/kopf-dev/kopf/blob/main/docs/command-line.md#the-operator-itself
func Main(register func(*Registry)) {
	adjustCollection()
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr, register))
}

// guardVariable makes the program stop when its standard input ends. The input ends when the parent process ends, for
// any reason.
const guardVariable = "KOPF_STDIN_GUARD"

// handOverVariable makes the program keep its peering record when it exits, because "kopf dev" restarts the program after
// every save, with the same identity. "kopf dev" removes the record at the end of the session.
const handOverVariable = "KOPF_PEERING_HANDOVER"

// privateVariable suppresses the warnings about missing peering objects in development. A cluster that "kopf dev" provides
// usually has no deployed operator to pause.
const privateVariable = "KOPF_PRIVATE_CLUSTER"

// errStdinClosed is the cause of a stop by the guard.
var errStdinClosed = errors.New("the parent process has ended")

func run(args []string, stdin io.Reader, stdout, stderr io.Writer, register func(*Registry)) int {
	note := noteRunning(stderr)
	defer note.ended()
	flags, err := parseFlags(filepath.Base(args[0]), args[1:])
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, flags.usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %s\nSee: %s --help\n", flags.name, printable.Paragraph(printable.WithoutPasswords(err.Error())), flags.name)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The program catches only the first signal. The second signal ends the process.
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if os.Getenv(guardVariable) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an error counts as the end of the input
			cancel(errStdinClosed)
		}()
	}
	switch err := flags.operate(ctx, stdout, stderr, register, note.ended); {
	case errors.Is(err, errWayInWanted):
		note.wantsWayIn()
		return 1
	case err != nil:
		fmt.Fprintf(stderr, "%s: %s\n", flags.name, printable.Paragraph(printable.WithoutPasswords(err.Error())))
		return 1
	}
	return 0
}

// registerAll calls the function that registers the handlers. A panic in it becomes an error.
func registerAll(register func(*Registry), r *Registry) (err error) {
	defer func() {
		if value := recover(); value != nil {
			panicked := handlers.Panicked(value)
			err = fmt.Errorf("register handlers: %w\n%s", panicked, panicked.Stack)
		}
	}()
	register(r)
	return nil
}

// operate runs the operator until it ends; with the argument "uninstall", it removes the operator's leftovers instead.
// Before the process is killed, it calls ended.
func (f *mainFlags) operate(ctx context.Context, stdout, stderr io.Writer, register func(*Registry), ended func()) error {
	logger := slog.New(f.logHandler(stderr))
	slog.SetDefault(logger)
	redirectLibraryLogs(logger)
	var registry Registry
	if err := registerAll(register, &registry); err != nil {
		return err
	}
	operator := Operator{
		Registry: &registry, Namespaces: f.namespaces, AllNamespaces: len(f.namespaces) == 0, Logger: logger,
		Identity: f.identity, dev: f.dev, private: os.Getenv(privateVariable) != "", keepPriority: f.prioritySet, traffic: f.debug, kubeconfig: f.kubeconfig, context: f.context,
		admission: f.admission,
		exit: func() {
			fmt.Fprintf(stderr, "%s: did not exit within Settings.Process.ForcedExitTimeout; killing it\n", f.name)
			ended()
			os.Exit(1)
		},
	}
	if os.Getenv(handOverVariable) != "" && f.identity != "" {
		operator.handOver = func() bool { return !errors.Is(context.Cause(ctx), errStdinClosed) }
	}
	if err := operator.check(); err != nil {
		return err
	}
	operator.Settings.Scaling = f.scaling
	operator.Settings.Peering = f.peeringSettings()
	operator.Settings.Scanning.Disabled = f.noScanning
	if f.uninstall != nil {
		return f.uninstall.run(ctx, &operator, stdout, func(text string) { fmt.Fprintf(stderr, "%s: %s\n", f.name, text) })
	}
	if f.wantsWayIn(&registry.registry) {
		return errWayInWanted
	}
	operator.Settings.Process.Inspector, operator.Settings.Process.Liveness = f.inspector, f.liveness
	if len(f.namespaces) == 0 && !f.allNamespaces {
		logger.Warn("Neither --namespace nor --all-namespaces is given; serving the whole cluster", observe.EventKey, observe.LogNamespacesUnspecified)
	}
	return operator.Run(ctx)
}

// peeringSettings returns the peering settings with the values of the flags.
func (f *mainFlags) peeringSettings() PeeringSettings {
	return PeeringSettings{Name: f.peering, Mandatory: f.peering != "", Priority: f.priority, Standalone: f.standalone}
}

// logHandler returns the log handler for the flags.
func (f *mainFlags) logHandler(w io.Writer) slog.Handler {
	if f.logFormat == "none" {
		return slog.DiscardHandler
	}
	level := slog.LevelInfo
	switch {
	case f.debug, f.verbose:
		level = slog.LevelDebug
	case f.quiet, f.uninstall != nil:
		level = slog.LevelWarn
	}
	prefix := f.logPrefix && (f.prefixSet || f.logFormat != "json")
	return logging.NewHandler(w, &logging.Options{Level: level, Format: f.logFormat, NoPrefix: !prefix, RefKey: f.logRefKey})
}
