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

// Layer is components that start and stop together.
type Layer struct {
	ctx    context.Context
	cancel context.CancelFunc
	failed func(error)

	mu      sync.Mutex
	running map[string]bool
	wg      sync.WaitGroup
}

// New makes a layer. The function is told when a component ends before the layer is stopped.
func New(failed func(error)) *Layer {
	ctx, cancel := context.WithCancel(context.Background())
	return &Layer{ctx: ctx, cancel: cancel, failed: failed, running: map[string]bool{}}
}

// Run starts a component. It must not end before the layer is stopped.
func (l *Layer) Run(name string, component func(context.Context) error) {
	l.mark(name, true)
	l.wg.Go(func() {
		err := component(l.ctx)
		l.mark(name, false)
		if l.ctx.Err() != nil {
			return
		}
		if err == nil {
			err = errors.New("ended by itself")
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

// Stop ends the components, and reports those that do not end in time.
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
