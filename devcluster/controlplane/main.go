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
	// The reader of our output may exit; do not die of SIGPIPE then.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// A second signal kills the process.
	context.AfterFunc(ctx, stop)

	// logTo redirects standard error; the final error goes to the original one.
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
	// A failed write cannot be reported anywhere.
	_, _ = fmt.Fprintln(terminal, "controlplane:", err)
	return fail(err)
}

// failure is the line on standard output if the cluster does not become usable.
type failure struct {
	Reason  string `json:"reason"`
	Message string `json:"error"`
}

// fail prints the reason to standard output and returns the exit status.
func fail(err error) int {
	f, status := failure{Reason: "failed", Message: err.Error()}, exitFailed
	if _, ok := errors.AsType[*datadir.InUseError](err); ok {
		f.Reason, status = "in-use", exitInUse
	}
	if _, ok := errors.AsType[*portTakenError](err); ok {
		f.Reason, status = "port-taken", exitPortTaken
	}
	if _, ok := errors.AsType[*lateError](err); ok {
		return status // the ready line was written before
	}
	if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
		klog.ErrorS(err, "Cannot report the failure")
	}
	return status
}
