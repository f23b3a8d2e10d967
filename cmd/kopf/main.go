// Command kopf runs, shows and builds Kubernetes operators, and manages clusters for them.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/k3d"
	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/runner"
)

func main() {
	box.Main()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, endSignals()...)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		interrupted := &runner.InterruptError{Signal: <-signals}
		cancel(interrupted)
		<-signals // commands handle the second one themselves
		<-signals
		os.Exit(interrupted.ExitCode()) // child processes stop with their parent
	}()
	libraries.redirect(os.Stderr)
	// Without a folder for their state, no clusters can be used; the commands that need one say so.
	if containers, err := k3d.New(libraries.k3dLine); err == nil {
		devcluster.Use(containers)
	}
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// endSignals returns the signals that stop a command gracefully. SIGHUP is one of them unless
// it is ignored (nohup).
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
