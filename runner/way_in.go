package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// WayIn is a tunnel from the API server of the cluster to the admission handlers of operators. It stays open between two
// operators. Its methods are not called concurrently.
type WayIn interface {
	// Open opens the tunnel. It is called when an operator needs the tunnel, and again if the cluster was opened again since
	// the last call, because the tunnel may have to change.
	Open(ctx context.Context, cluster Cluster) (Webhooks, error)

	// Args returns the flags of an operator that receives reviews at the Unix socket. The tunnel must be open.
	Args(socket string) []string

	// Pass passes reviews on to the operator that listens at the socket or will listen soon.
	Pass(socket string)

	// Hold makes reviews wait for the next operator. It may be called while the tunnel is closed.
	Hold()

	// Refuse answers reviews with an error until the next Pass or Hold, because no operator is expected soon.
	Refuse()

	// Changes receives the state of the open tunnel when its connection is lost and when it is restored. The WayIn reopens
	// the tunnel in between, and passes a new address to the operator by the file in its flags. Only the newest state is
	// kept.
	Changes() <-chan Webhooks
}

// Webhooks is the state of the tunnel for admission reviews.
type Webhooks struct {
	Phase   WebhooksPhase
	Way     string // "direct", "ngrok"
	Why     string // reason for choosing this kind of tunnel
	Address string // address to which the API server connects, without secrets
	Error   string // reason why there is no tunnel, or why it is lost
}

// WebhooksPhase is the phase of the tunnel.
type WebhooksPhase string

// The phases of the tunnel.
const (
	WebhooksNone    WebhooksPhase = "none" // no operator needs a tunnel
	WebhooksOpening WebhooksPhase = "opening"
	WebhooksOpen    WebhooksPhase = "open"
	WebhooksLost    WebhooksPhase = "lost" // the connection is lost, and the tunnel is being reopened
	WebhooksFailed  WebhooksPhase = "failed"
)

const (
	// wayInEnv announces to an operator that it can request a tunnel.
	wayInEnv = "KOPF_WAY_IN=1"

	// wantsWayIn is the note of an operator that requests a tunnel.
	wantsWayIn = "wants a way in"
)

// askedForWayIn reports whether the operator ended to request a tunnel.
func askedForWayIn(note string) (bool, error) {
	state, err := os.ReadFile(note)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read how the operator has ended: %w", err)
	}
	return string(state) == wantsWayIn, nil
}

// WayInError reports that an operator has admission handlers, but no tunnel for them.
type WayInError struct{ Err error }

func (e *WayInError) Error() string {
	return "the operator has admission handlers, and the cluster cannot call them: " + e.Err.Error()
}

func (e *WayInError) Unwrap() error { return e.Err }

// wayInResult is the result of opening the tunnel.
type wayInResult struct {
	cluster  *Cluster
	webhooks Webhooks
	err      error
}

// openWayIn opens the tunnel for an operator that requested it.
func (l *loop) openWayIn() {
	cluster := l.cluster
	if cluster == nil {
		return // the next operator requests the tunnel again
	}
	l.wayIn = WebhooksOpening
	l.store.update(func(s *State) { s.Webhooks = Webhooks{Phase: WebhooksOpening} })
	l.tasks.Go(func() {
		webhooks, err := l.opts.WayIn.Open(l.ctx, *cluster)
		post(l.ctx, l.wayOpened, wayInResult{cluster, webhooks, err})
	})
}

func (l *loop) handleWayIn(r wayInResult) {
	if r.cluster != l.cluster {
		l.wayIn = WebhooksNone // the cluster ended while the tunnel was being opened
		return
	}
	if r.err != nil {
		failed := &WayInError{r.err}
		l.wayIn = WebhooksFailed
		l.store.say(inspect.LevelError, failed.Error())
		l.store.update(func(s *State) {
			s.Webhooks = Webhooks{Phase: WebhooksFailed, Error: r.err.Error()}
			s.Process.Phase, s.Process.Error = ProcessCrashed, failed.Error()
		})
		if l.opts.Unattended {
			l.fatal = failed
		}
		return
	}
	l.wayIn = WebhooksOpen
	l.store.update(func(s *State) { s.Webhooks = r.webhooks })
}

// forgetWayIn permits the next operator to request the tunnel again, if it was not opened.
func (l *loop) forgetWayIn() {
	if l.wayIn == WebhooksFailed {
		l.wayIn = WebhooksNone
	}
}

// wayChanges returns the channel of the tunnel's changes; nil until the tunnel is open. Earlier changes stay in the channel.
func (l *loop) wayChanges() <-chan Webhooks {
	if l.wayIn != WebhooksOpen {
		return nil
	}
	return l.opts.WayIn.Changes()
}

// handleWayChange publishes that the open tunnel is lost, or restored. The operator continues to run, because it
// reads the address from the file of its flags.
func (l *loop) handleWayChange(w Webhooks) {
	former := l.State().Webhooks
	l.store.update(func(s *State) { s.Webhooks = w })
	if line := describeWayChange(former, w); line != "" {
		level := inspect.LevelInfo
		if w.Phase == WebhooksLost {
			level = inspect.LevelWarn
		}
		l.store.say(level, line)
	}
}

// describeWayChange returns the log line about a change; empty if people need not know about the change.
func describeWayChange(former, now Webhooks) string {
	switch {
	case now.Phase == WebhooksLost && (former.Phase != WebhooksLost || former.Error != now.Error):
		return fmt.Sprintf("webhooks: the tunnel by %s is lost, opening it again; until then, nothing is reviewed: %s", now.Way, now.Error)
	case now.Phase == WebhooksOpen && former.Phase == WebhooksLost:
		return fmt.Sprintf("webhooks: the tunnel is open again: %s; the API server reaches %s", now.Way, now.Address)
	}
	return ""
}

// loseWayIn forgets a tunnel that ended with its cluster.
func (l *loop) loseWayIn() {
	if l.opts.WayIn == nil || l.wayIn == WebhooksOpening {
		return
	}
	l.opts.WayIn.Hold()
	l.wayIn = WebhooksNone
	l.store.update(func(s *State) { s.Webhooks = Webhooks{Phase: WebhooksNone} })
}

// openWayIn opens the tunnel, unless a signal comes first.
func (r *headless) openWayIn(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	opened := make(chan error, 1)
	go func() {
		var err error
		r.way, err = r.WayIn.Open(ctx, r.cluster)
		opened <- err
	}()
	for {
		select {
		case s := <-r.Signals:
			cancel(&InterruptError{Signal: s})
		case err := <-opened:
			if interrupted, ok := errors.AsType[*InterruptError](context.Cause(ctx)); ok {
				return interrupted
			}
			if err != nil {
				return &WayInError{err}
			}
			return nil
		}
	}
}

// wayChanges returns the tunnel's channel of changes; nil until the tunnel is open.
func (r *headless) wayChanges() <-chan Webhooks {
	if r.way.Phase == "" {
		return nil
	}
	return r.WayIn.Changes()
}

// handleWayChange logs that the open tunnel is lost, or restored.
func (r *headless) handleWayChange(w Webhooks) {
	if line := describeWayChange(r.way, w); line != "" {
		r.Progress(false, line)
	}
	r.way = w
}
