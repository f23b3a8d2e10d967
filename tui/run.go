package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/printable"
	"github.com/kopf-dev/kopf/tui/parts"
)

// Source is the session that the workbench shows and controls: a [runner.Session].
type Source interface {
	// State returns the current state. It is never nil and never modified.
	State() *runner.State

	// Changes delivers a value soon after the state has changed; changes in quick
	// succession may share one. It is closed after the last change.
	Changes() <-chan struct{}

	// Do performs an intent. The error is shown to the user.
	Do(ctx context.Context, intent runner.Intent) error

	parts.Operator
}

// Options configure the workbench. The zero value works.
type Options struct {
	// Title names the developed packages as on the command line: "./handlers". Defaults to the import paths of the
	// packages.
	Title string

	// ClusterStays reports that the cluster continues to run after the end of the workbench. Objects with the
	// operator's finalizer are then listed before quitting, because no operator will release them.
	ClusterStays bool

	// Stays returns the other programs that continue to run: one sentence per line, with the command that ends the program. It
	// is called when the user wants to quit. May be nil.
	Stays func(*runner.State) []string

	// Uninstall returns lines about the removal of the operator's leftovers from the cluster, for users who will not
	// run it again. They follow the list of objects. May be nil.
	Uninstall func() []string

	// Plan makes a plan for a copy of the cluster, and reports its steps: of an executable or, if its path is empty, of the saved code.
	// It returns soon after the context has ended. The error is of one or two lines. Without it, there is no page for plans, and builds
	// that wait have no plan. May be nil.
	Plan func(ctx context.Context, executable string, report func(step string)) (*parts.Plan, error)

	// Ended is called when the screen has ended, before Run waits for the end of a plan. May be nil.
	Ended func()

	// Layout is the file that keeps the user's choices about the screen between sessions. If it is empty, nothing is
	// kept.
	Layout string

	// Input and Output are the terminal. They default to stdin and stdout.
	Input  io.Reader
	Output io.Writer

	// Environ is the environment that describes the terminal and the user's editor. Defaults to the environment of
	// the process.
	Environ []string
}

// framesPerSecond is how often a changed screen is written to the terminal. A key waits on average for half of the time
// between two frames. Frames without a change are not drawn.
const framesPerSecond = 120

// Run shows the workbench until the user quits or the context ends; it returns nil in both cases. The caller must
// stop the source.
func Run(ctx context.Context, source Source, opts Options) error {
	if opts.Environ == nil {
		opts.Environ = withEditor(os.Environ(), exec.LookPath)
	}
	if opts.Input == nil {
		opts.Input = os.Stdin
	}
	if opts.Output == nil {
		opts.Output = os.Stdout
	}
	ctx, cancel := context.WithCancel(ctx)
	a := newApp(ctx, source, opts)
	program := tea.NewProgram(a,
		tea.WithInput(opts.Input),
		tea.WithOutput(opts.Output),
		tea.WithEnvironment(opts.Environ),
		tea.WithoutSignalHandler(), // signals end the context
		tea.WithFPS(framesPerSecond),
	)
	var background sync.WaitGroup
	initial := a.screen.State
	background.Go(func() { feed(ctx, source, initial, program.Send) })
	background.Go(func() {
		<-ctx.Done()
		program.Quit()
	})
	_, err := program.Run()
	if opts.Ended != nil {
		opts.Ended()
	}
	cancel()
	background.Wait()
	a.plans.Wait()
	if err != nil {
		return fmt.Errorf("run in the terminal: %w", err)
	}
	lines := a.farewell()
	if err := a.keepLayout(); err != nil {
		lines = append(lines, err.Error())
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(opts.Output, printable.Line(line)); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
	return nil
}
