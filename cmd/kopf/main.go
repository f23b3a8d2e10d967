// Command kopf is the tool for people who write Kubernetes operators.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kopf-dev/kopf/runner"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		interrupted := &runner.InterruptError{Signal: <-signals}
		cancel(interrupted)
		<-signals // commands hear of the second one by themselves
		<-signals
		os.Exit(interrupted.ExitCode()) // what was started notices its parent's end
	}()
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// endSignals are the signals that end a command in an orderly way. That the terminal is
// gone is one of them, unless it was said beforehand that it does not matter (nohup).
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
