package serving

import (
	"log/slog"

	"github.com/kopf-dev/kopf/sdk/internal/observe"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
)

// indexGate delays handlers until the indices are complete. It belongs to streams that start together: at startup, after
// a pause, or for a new resource or namespace. No object of these streams is processed before all of their objects are
// indexed. The lock of [Streams] guards everything except the queue and its gate.
type indexGate struct {
	queue  *queue.Queue
	logger *slog.Logger

	gate    queue.Gate
	pending int  // number of streams whose objects are not all indexed yet
	waited  bool // set if a stream delayed the gate
	opened  bool
}

// wait makes the gate wait for one more stream.
func (g *indexGate) wait() {
	g.pending++
	g.waited = true
}

// indexed records that all objects of a stream are indexed, or that the stream has ended.
func (g *indexGate) indexed() {
	g.pending--
	g.openWhenComplete()
}

// openWhenComplete opens the gate if no stream is pending.
func (g *indexGate) openWhenComplete() {
	if g.opened || g.pending > 0 {
		return
	}
	g.opened = true
	g.queue.Open(&g.gate)
	if g.waited {
		g.logger.Debug("Indices are complete: starting the handlers", observe.EventKey, observe.LogIndexComplete)
	}
}
