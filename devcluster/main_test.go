package devcluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/kopf-dev/kopf/devcluster/internal/binary"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(helperEnv); script != "" {
		os.Exit(help(script))
	}
	if err := findProgram(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// findProgram finds or builds the real one, once: tests have homes of their own, where it would be built again.
func findProgram() error {
	// Interrupting the tests interrupts the build.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program, err := binary.Find(ctx, func(p binary.Progress) {
		if p.Done%100 == 0 {
			fmt.Fprintf(os.Stderr, "%s (%d of %d)\n", p.Message, p.Done, p.Total)
		}
	})
	if err != nil {
		return err
	}
	return os.Setenv(binary.EnvVar, program)
}
