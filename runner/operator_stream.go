package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// connectEvery is the interval between attempts to connect to a new operator's inspector.
// The inspector usually listens some ten milliseconds after the start of the process.
const connectEvery = 10 * time.Millisecond

// follow connects to the inspector of an operator that has just been started, and calls
// message for each message. Until it is connected, it retries and calls onRetry with the
// error of each attempt. It returns nil when the operator ends the stream, or the error of
// message.
func follow(ctx context.Context, client *inspect.Client, message func(inspect.Message) error, onRetry func(error)) error {
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
		onRetry(failed)
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// followOperator reads the inspector until the operator exits, then reports the exit.
func (l *loop) followOperator(op *operator, client *inspect.Client) {
	// The context outlives the session's, so that the operator's last messages are read.
	ctx, cancel := context.WithCancel(context.WithoutCancel(l.ctx))
	followed := make(chan error, 1)
	go func() {
		followed <- follow(ctx, client, func(m inspect.Message) error {
			if m.Snapshot != nil {
				l.setLogLevel(ctx, client)
				l.retryFormerFailures(ctx, op, client)
			}
			l.handleMessage(op, client, m)
			return nil
		}, func(error) {}) // errors are ignored, because the operator creates the socket shortly after its start
	}()
	<-op.child.done
	// Read the last messages that the operator sent before its exit; then the stream ends by itself.
	timer := time.AfterFunc(outputDrain, cancel)
	if !op.wasInspected() {
		cancel()
	}
	err := <-followed
	timer.Stop()
	cancel()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	l.events <- operatorExit{op, err}
}

// setLogLevel gives a new process the log level of the previous one.
func (l *loop) setLogLevel(ctx context.Context, client *inspect.Client) {
	l.mu.Lock()
	level := l.logLevel
	l.mu.Unlock()
	if level == "" {
		return
	}
	if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentLogLevel, Value: level}); err != nil {
		l.store.say(inspect.LevelWarn, fmt.Sprintf("cannot set the operator's log level to %s: %v", level, err))
	}
}

// retryFormerFailures makes new code handle the objects that the previous code failed to handle.
func (l *loop) retryFormerFailures(ctx context.Context, op *operator, client *inspect.Client) {
	if !l.opts.RetryFailed || !op.newCode || op.retried {
		return
	}
	op.retried = true
	if err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentRetryFailed, Value: inspect.RetryFormer}); err != nil {
		l.store.say("warn", fmt.Sprintf("cannot call failed handlers again: %v; F in the workbench and kopf retry --state=failed do it, too", err))
		return
	}
	op.retrying = true
}

// wasInspected reports whether the operator's inspector has sent a message.
func (o *operator) wasInspected() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.inspected
}

// handleMessage publishes a message of the operator's inspector.
func (l *loop) handleMessage(op *operator, client *inspect.Client, m inspect.Message) {
	op.mu.Lock()
	op.inspected = true
	op.mu.Unlock()
	snapshot := op.feed.receive(l.store, m)
	if snapshot == nil {
		return
	}
	l.mu.Lock()
	l.client = client
	settling := l.settling
	l.mu.Unlock()
	if settling == nil && len(l.opts.Manifests) == 0 {
		settling = settlement.NewSettling(nil)
	}
	handling := snapshot.Operator.State == inspect.OperatorRunning
	l.store.update(func(s *State) {
		s.Snapshot, s.Live = snapshot, true
		if s.Process.Phase == ProcessStarting {
			s.Process.Phase = ProcessRunning
		}
		switch phase := s.Cluster.Phase; {
		case phase != ClusterReady && phase != ClusterGone:
			// The cluster is not open: the session sets this phase, not the snapshot.
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
	l.noteReadiness(op, snapshot)
	if settling == nil {
		l.publishCheck(l.checkUnapplied(snapshot))
	} else {
		settling.Note(snapshot, op.retrying)
		// The check is published after the state, because waiters read the state next. Only a waiter runs the check,
		// because it examines all objects.
		l.publishCheck(func() settlement.Settlement { return settling.Check(snapshot, time.Now()) })
	}
}

// markReady records the time when the code of a reload started to handle objects.
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

// publishCheck replaces the check that [Session.Settled] calls.
func (s *Session) publishCheck(latest func() settlement.Settlement) {
	s.checks.Lock()
	defer s.checks.Unlock()
	select {
	case <-s.settled:
	default:
	}
	s.settled <- latest
}
