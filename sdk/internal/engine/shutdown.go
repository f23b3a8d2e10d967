package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/daemons"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

// exitAfterTimeout calls exit if the process is still running when the timeout after the end of the context is over, for
// example because of a handler that does not return. It reads the timeout when the context ends, because startup
// handlers may change it. A timeout of zero or less disables it.
func exitAfterTimeout(ctx context.Context, timeout func() time.Duration, exit func()) {
	if exit == nil {
		return
	}
	context.AfterFunc(ctx, func() {
		if d := timeout(); d > 0 {
			time.AfterFunc(d, exit)
		}
	})
}

// stopAllDaemons stops the daemons and timers of all objects, and waits for them. It abandons a daemon that runs longer
// than the exit timeout plus its own cancellation backoff and timeout. No daemon may be started afterwards.
func stopAllDaemons(d *core.Deps, memories *memory.Memories, detached *memory.DetachedDaemons) {
	// The order matters, because daemons move from the memories to the detached groups.
	var groups []*daemons.Group
	for _, m := range memories.All() {
		groups = append(groups, m.Group.Load())
	}
	groups = append(groups, detached.Close()...)
	var wg sync.WaitGroup
	for _, group := range groups {
		if len(group.Tasks()) == 0 {
			continue
		}
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(d.Background, d.Settings.ExitTimeout+cancellationTime(group))
			defer cancel()
			group.Wait(ctx, daemons.OperatorExiting)
			for _, task := range group.Tasks() {
				d.Logger.Warn(fmt.Sprintf("%s ignores that the operator stops; abandoning it", task),
					observe.EventKey, observe.LogDaemonAbandoned, "of", task.Live().String())
			}
		})
	}
	wg.Wait()
}

// cancellationTime returns the longest sum of the cancellation backoff and timeout of an object's daemons.
func cancellationTime(group *daemons.Group) time.Duration {
	var longest time.Duration
	for _, task := range group.Tasks() {
		var own time.Duration
		if d := task.Handler.CancellationBackoff; d != nil {
			own += *d
		}
		if d := task.Handler.CancellationTimeout; d != nil {
			own += *d
		}
		longest = max(longest, own)
	}
	return longest
}
