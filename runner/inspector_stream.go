package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// connectEvery is how often a new operator's inspector is tried. It is there some ten
// milliseconds after the start of the process.
const connectEvery = 10 * time.Millisecond

// follow reads the stream of an operator that has just been started, as soon as there
// is one. It returns nil at the operator's good bye, or the error of message. Until there
// is a stream, silent is told why not, with each attempt.
func follow(ctx context.Context, client *inspect.Client, message func(inspect.Message) error, silent func(error)) error {
	ticker := time.NewTicker(connectEvery)
	defer ticker.Stop()
	for connected := false; ; {
		var failed error
		for m, err := range client.Messages(ctx) {
			if failed = err; err != nil {
				break
			}
			connected = true
			if failed = message(m); failed != nil {
				break
			}
		}
		if failed == nil || connected || ctx.Err() != nil {
			return failed
		}
		if _, ok := errors.AsType[*inspect.VersionError](failed); ok {
			return failed
		}
		silent(failed)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// accompany follows the operator to its end, and reports that.
func (l *loop) accompany(op *operator, client *inspect.Client) {
	// It does not end with the session: the operator's last words belong to it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	followed := make(chan error, 1)
	go func() {
		followed <- follow(ctx, client, func(m inspect.Message) error {
			if m.Snapshot != nil {
				l.setLogLevel(ctx, client)
			}
			l.hear(op, client, m)
			return nil
		}, func(error) {}) // the socket is the session's own: it is a matter of time
	}()
	<-op.child.done
	// What the operator sent before it ended is read; then the stream has ended, too.
	timer := time.AfterFunc(drain, cancel)
	if !op.connected() {
		cancel()
	}
	err := <-followed
	timer.Stop()
	cancel()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	l.events <- operatorEvent{op, err}
}

// setLogLevel makes a new operator publish what the former one did.
func (l *loop) setLogLevel(ctx context.Context, client *inspect.Client) {
	l.mu.Lock()
	level := l.logLevel
	l.mu.Unlock()
	if level == "" {
		return
	}
	if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentLogLevel, Value: level}); err != nil {
		l.store.say("warn", fmt.Sprintf("the log level stays as it is: %v", err))
	}
}

// connected tells that the operator's inspector was heard.
func (o *operator) connected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.heard
}

// hear takes a message of the operator's inspector.
func (l *loop) hear(op *operator, client *inspect.Client, m inspect.Message) {
	op.mu.Lock()
	op.heard = true
	op.mu.Unlock()
	l.failures.amend(&m)
	op.replica.Apply(m)
	lines := m.Log
	if m.Snapshot != nil {
		// It repeats lines if the stream has started anew, because this reader was slow.
		lines = slices.DeleteFunc(slices.Clone(m.Snapshot.Log), func(line inspect.LogLine) bool { return !line.At.After(op.lastLog) })
	}
	if len(lines) > 0 || m.Dropped > 0 {
		l.store.log(m.Dropped, lines...)
	}
	if len(lines) > 0 {
		op.lastLog = lines[len(lines)-1].At
	}
	if m.More {
		return
	}
	snapshot := op.replica.Snapshot()
	l.failures.saw(snapshot)
	l.mu.Lock()
	l.client = client
	settling := l.settling
	l.mu.Unlock()
	if settling == nil && len(l.opts.Manifests) == 0 {
		settling = newSettling(nil)
	}
	handling := snapshot.Operator.State == inspect.OperatorRunning
	l.store.update(func(s *State) {
		s.Snapshot, s.Live = snapshot, true
		if s.Process.Phase == ProcessStarting {
			s.Process.Phase = ProcessRunning
		}
		switch phase := s.Cluster.Phase; {
		case phase != ClusterReady && phase != ClusterGone:
			// That it has ended is known better here.
		case snapshot.Operator.Lost != "":
			s.Cluster.Phase, s.Cluster.Error = ClusterGone, snapshot.Operator.Lost
		case snapshot.Operator.State != inspect.OperatorStarting:
			s.Cluster.Phase, s.Cluster.Error = ClusterReady, ""
		}
		if handling && !op.ready {
			s.Build.History = markReady(s.Build.History, op.reload, time.Now())
		}
	})
	op.ready = op.ready || handling
	if settling != nil {
		// After the state: who waits for this looks at the state next.
		l.tellSettlement(settling.check(snapshot, time.Now()))
	}
}

// markReady notes when the code of a reload began to handle objects.
func markReady(history []Reload, at, now time.Time) []Reload {
	for i := range history {
		if !at.IsZero() && history[i].At.Equal(at) {
			history = slices.Clone(history)
			history[i].Ready = now.Sub(at)
			break
		}
	}
	return history
}

// tellSettlement replaces the news about what has settled.
func (s *Session) tellSettlement(news settlement) {
	select {
	case <-s.settled:
	default:
	}
	s.settled <- news
}
