package devcluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/kopf-dev/kopf/devcluster/internal/binary"
	"github.com/kopf-dev/kopf/internal/testmain"
)

func TestMain(m *testing.M) {
	if script := os.Getenv(helperEnv); script != "" {
		os.Exit(runHelper(script))
	}
	if err := prepareProgram(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testmain.Run(m)
}

// prepareProgram finds or builds the real program once. Each test has its own home, in which
// it would be built again.
func prepareProgram() error {
	// An interrupt of the tests stops the build.
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
