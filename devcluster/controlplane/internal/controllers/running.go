package controllers

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// stopPeriod is how long the controllers may take to return until those that still run are logged. It must be shorter
// than the time after which the process exits without them.
const stopPeriod = 2 * time.Second

// namedRun is a controller that is ready to run.
type namedRun struct {
	name string
	run  run
}

// runAll runs controllers until the context is cancelled and all of them have returned. It logs controllers that
// return before the cancellation, and controllers that still run stopPeriod after the cancellation.
func runAll(ctx context.Context, controllers []namedRun) {
	logger := klog.FromContext(ctx)
	running, returned := sets.New[string](), make(chan string)
	for _, c := range controllers {
		running.Insert(c.name)
		go func() {
			c.run(ctx)
			if ctx.Err() == nil {
				logger.Info("Controller returned early", "controller", c.name)
			}
			returned <- c.name
		}()
	}
	cancelled := ctx.Done()
	var late <-chan time.Time
	for cancelled != nil || running.Len() > 0 {
		select {
		case name := <-returned:
			running.Delete(name)
		case <-cancelled:
			cancelled = nil
			ticker := time.NewTicker(stopPeriod)
			defer ticker.Stop()
			late = ticker.C
		case <-late:
			logger.Info("Controllers have not returned yet", "controllers", sets.List(running))
		}
	}
}
