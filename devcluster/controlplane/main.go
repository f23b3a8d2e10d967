package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/component-base/version"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/datadir"
)

// The exit statuses; see the package's documentation.
const (
	exitFailed = 1 + iota
	exitUsage
	exitInUse
	exitPortTaken
)

func main() { os.Exit(realMain()) }

func realMain() int {
	start := time.Now()
	o, err := parseOptions(os.Args[1:], os.Stderr)
	switch {
	case errors.Is(err, errHelp):
		return 0
	case err != nil:
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		return exitUsage
	case o.version:
		fmt.Println(version.Get().GitVersion)
		return 0
	}
	// Whoever reads our output may go away; that is no reason to die of a signal.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)

	// The log takes standard error over; the last word is for whoever has started us.
	terminal, err := duplicate(os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		return exitFailed
	}
	err = run(ctx, o, start)
	klog.Flush()
	if err == nil {
		return 0
	}
	// Nobody may be listening, and there is nobody else to tell.
	_, _ = fmt.Fprintln(terminal, "controlplane:", err)
	return fail(err)
}

// failure is the line on standard output when the cluster does not get usable.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"error"`
}

// fail tells a program why we failed, and returns the exit status.
func fail(err error) int {
	f, status := failure{Reason: "failed", Message: err.Error()}, exitFailed
	if _, ok := errors.AsType[*datadir.InUseError](err); ok {
		f.Reason, status = "in-use", exitInUse
	}
	if _, ok := errors.AsType[*portTakenError](err); ok {
		f.Reason, status = "port-taken", exitPortTaken
	}
	if _, ok := errors.AsType[*lateError](err); ok {
		return status // the line was written already
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		klog.ErrorS(err, "Reporting the failure")
	}
	return status
}
