// Package layer runs components that start and stop together.
package layer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Layer is a group of components that start and stop together.
type Layer struct {
	ctx    context.Context
	cancel context.CancelFunc
	failed func(error)

	mu      sync.Mutex
	running map[string]bool
	wg      sync.WaitGroup
}

// New returns an empty layer. failed is called when a component ends before the layer is
// stopped.
func New(failed func(error)) *Layer {
	ctx, cancel := context.WithCancel(context.Background())
	return &Layer{ctx: ctx, cancel: cancel, failed: failed, running: map[string]bool{}}
}

// Run starts a component, which must run until the layer is stopped.
func (l *Layer) Run(name string, component func(context.Context) error) {
	l.mark(name, true)
	l.wg.Go(func() {
		err := component(l.ctx)
		l.mark(name, false)
		if l.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("stopped unexpectedly")
		}
		l.failed(fmt.Errorf("%s: %w", name, err))
	})
}

func (l *Layer) mark(name string, running bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if running {
		l.running[name] = true
	} else {
		delete(l.running, name)
	}
}

// Stop stops the components. The error names those that did not stop within the grace period.
func (l *Layer) Stop(grace time.Duration) error {
	l.cancel()
	stopped := make(chan struct{})
	go func() {
		l.wg.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-time.After(grace):
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Errorf("still running after %s: %s", grace, strings.Join(slices.Sorted(maps.Keys(l.running)), ", "))
}
