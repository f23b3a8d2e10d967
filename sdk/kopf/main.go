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
	"strings"
	"syscall"

	"github.com/spf13/pflag"
)

// Main runs an operator as a program: with the flags of "kopf run", until SIGINT or
// SIGTERM; a second signal ends it at once. It does not return: the exit code is 0 after
// a graceful stop, 1 after a failure, 2 for flags that make no sense. See the chapter
// "Command-line options" of Kopf's documentation.
//
//	func main() { kopf.Main(Register) }
func Main(register func(*Registry)) {
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr, register))
}

// guardVariable makes the program stop when its standard input ends: with its parent,
// however that has died.
const guardVariable = "KOPF_STDIN_GUARD"

// errStdinClosed is the cause of a stop by the guard.
var errStdinClosed = errors.New("the parent process has ended")

func run(args []string, stdin io.Reader, stdout, stderr io.Writer, register func(*Registry)) int {
	flags, err := parseFlags(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, flags.usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v\n", filepath.Base(args[0]), err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// After the first signal, the next one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if os.Getenv(guardVariable) != "" {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // an error is an end as well
			cancel(errStdinClosed)
		}()
	}
	if err := flags.operate(ctx, stderr, register); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", filepath.Base(args[0]), err)
		return 1
	}
	return 0
}

// mainFlags are the command line of an operator.
type mainFlags struct {
	kubeconfig, context   string
	namespaces            []string
	allNamespaces         bool
	verbose, quiet, debug bool
	logFormat, logRefKey  string
	logPrefix             bool
	inspector, liveness   string

	prefixSet bool
	usage     string
}

func parseFlags(args []string) (*mainFlags, error) {
	f := &mainFlags{}
	set := pflag.NewFlagSet(filepath.Base(args[0]), pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.SortFlags = false
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file, instead of login handlers (default: these; else the pod's service account, $KUBECONFIG, ~/.kube/config)")
	set.StringVar(&f.context, "context", "", "the context of the kubeconfig file, instead of login handlers")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to serve, or a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "serve the whole cluster")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "show what the framework is doing")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "show only warnings and errors")
	set.BoolVar(&f.debug, "debug", false, "show everything, the traffic with the cluster included")
	set.StringVar(&f.logFormat, "log-format", "full", "how logs look: full, plain, json, or none")
	set.BoolVar(&f.logPrefix, "log-prefix", true, "begin messages about an object with its name; in json only if it is given")
	noPrefix := set.Bool("no-log-prefix", false, "the opposite")
	set.StringVar(&f.logRefKey, "log-refkey", "object", "the key of an object's identity in json logs")
	set.StringVar(&f.inspector, "inspect", "", "publish the operator's state at unix:PATH or tcp:127.0.0.1:PORT")
	set.StringVar(&f.liveness, "liveness", "", "tell the operator's health at a URL such as http://0.0.0.0:8080/healthz")
	f.usage = fmt.Sprintf("Usage: %s [flags]\n\nFlags:\n%s", filepath.Base(args[0]), set.FlagUsages())
	if err := set.Parse(args[1:]); err != nil {
		return f, err
	}
	f.prefixSet = set.Changed("log-prefix") || *noPrefix
	f.logPrefix = f.logPrefix && !*noPrefix
	switch {
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q: an operator takes only flags (see --help)", set.Arg(0))
	case f.allNamespaces && len(f.namespaces) > 0:
		return f, errors.New("--all-namespaces excludes --namespace: use one or the other")
	case f.quiet && (f.verbose || f.debug):
		return f, errors.New("--quiet excludes --verbose and --debug: use one or the other")
	case !strings.Contains(" full plain json none ", " "+f.logFormat+" "):
		return f, fmt.Errorf("--log-format=%s: want full, plain, json or none", f.logFormat)
	}
	return f, nil
}

func (f *mainFlags) operate(ctx context.Context, stderr io.Writer, register func(*Registry)) error {
	logger := slog.New(f.logHandler(stderr))
	slog.SetDefault(logger)
	adoptLibraries(logger)
	var registry Registry
	register(&registry)
	if err := registry.Err(); err != nil {
		return fmt.Errorf("%w:\n%w", ErrRegistration, err)
	}
	operator := Operator{
		exit: func() {
			fmt.Fprintln(stderr, "the operator has not ended in time after it was asked to: it is ended")
			os.Exit(1)
		},
		Registry: &registry, Namespaces: f.namespaces, Logger: logger,
		traffic: f.debug, kubeconfig: f.kubeconfig, context: f.context,
	}
	operator.Settings.Process.Inspector, operator.Settings.Process.Liveness = f.inspector, f.liveness
	if len(f.namespaces) == 0 && !f.allNamespaces {
		logger.Warn("Neither --namespace nor --all-namespaces is given: the whole cluster is served.")
	}
	return operator.Run(ctx)
}

func (f *mainFlags) logHandler(w io.Writer) slog.Handler {
	if f.logFormat == "none" {
		return slog.DiscardHandler
	}
	level := slog.LevelInfo
	switch {
	case f.debug, f.verbose:
		level = slog.LevelDebug
	case f.quiet:
		level = slog.LevelWarn
	}
	prefix := f.logPrefix && (f.prefixSet || f.logFormat != "json")
	return NewLogHandler(w, &LogOptions{Level: level, Format: f.logFormat, NoPrefix: !prefix, RefKey: f.logRefKey})
}
