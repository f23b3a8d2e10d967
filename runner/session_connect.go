package runner

import (
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// connection is the result of [Options].Connect for a binary and a cluster.
type connection struct {
	binary string   // path of the operator's binary
	to     *Cluster // connected cluster
	as     Cluster
	err    error
}

// connect creates the connection for the newest binary. It returns false until the connection exists.
func (l *loop) connect() bool {
	if l.opts.Connect == nil {
		l.connection = &connection{binary: l.binary, to: l.cluster, as: *l.cluster}
		return true
	}
	if c := l.connection; c != nil && c.binary == l.binary && c.to == l.cluster {
		return c.err == nil
	}
	if l.connecting {
		return false
	}
	l.connecting = true
	c := connection{binary: l.binary, to: l.cluster}
	l.tasks.Go(func() {
		c.as, c.err = l.opts.Connect(l.ctx, c.binary, *c.to)
		post(l.ctx, l.connected, c)
	})
	return false
}

// handleConnection keeps a connection. After a failure, the next build or restart tries again.
func (l *loop) handleConnection(c connection) {
	l.connecting = false
	l.connection = &c
	if c.err == nil {
		return
	}
	l.store.say(inspect.LevelError, c.err.Error())
	if l.opts.Unattended && c.binary == l.binary {
		l.fatal = c.err
	}
}
