package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
)

// Source is what the workbench shows and acts upon: a [runner.Session].
type Source interface {
	// State is the present state; it is never nil and never changed.
	State() *runner.State

	// Changes delivers a value soon after the state has changed; changes in quick
	// succession may share one. It is closed when there will be no more of them.
	Changes() <-chan struct{}

	// Do fulfils a wish. The error is for a person to read.
	Do(ctx context.Context, intent runner.Intent) error
}

// Options are what the workbench does not see by itself. The zero value works.
type Options struct {
	// Title is what is being developed, as the user has called it: "./handlers".
	// The default are the import paths of the packages.
	Title string

	// ClusterStays tells that the cluster goes on when the workbench has ended. Objects
	// that bear the operator's finalizer are then told before quitting, because nothing
	// will be there to release them.
	ClusterStays bool

	// Stays tells what else goes on, a sentence a line, each with the command that ends
	// it. It is asked when somebody wants to quit; nil is nothing.
	Stays func(*runner.State) []string

	// Input and Output are the terminal; the default are stdin and stdout.
	Input  io.Reader
	Output io.Writer

	// Environ is the environment that tells of the terminal's abilities and of the
	// editor; the default is that of the process.
	Environ []string
}

// Run shows the workbench until its user quits or the context ends; both are a good end.
// It does not end what the source has started: that is for the caller, afterwards.
func Run(ctx context.Context, source Source, opts Options) error {
	if opts.Environ == nil {
		opts.Environ = os.Environ()
	}
	if opts.Input == nil {
		opts.Input = os.Stdin
	}
	if opts.Output == nil {
		opts.Output = os.Stdout
	}
	ctx, cancel := context.WithCancel(ctx)
	r := newRoot(ctx, source, opts)
	program := tea.NewProgram(r,
		tea.WithInput(opts.Input),
		tea.WithOutput(opts.Output),
		tea.WithEnvironment(opts.Environ),
		// Signals end the context, which also must end the operator.
		tea.WithoutSignalHandler(),
	)
	var beside sync.WaitGroup
	beside.Go(func() { feed(ctx, source, r.common.world, program.Send) })
	beside.Go(func() {
		<-ctx.Done()
		program.Quit()
	})
	_, err := program.Run()
	cancel()
	beside.Wait()
	if err != nil {
		return fmt.Errorf("the terminal: %w", err)
	}
	for _, line := range r.farewell() {
		if _, err := fmt.Fprintln(opts.Output, line); err != nil {
			return fmt.Errorf("the terminal: %w", err)
		}
	}
	return nil
}
