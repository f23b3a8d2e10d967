package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// AttachOptions configure an [Attachment].
type AttachOptions struct {
	// Address is the address of the operator's inspector, such as "unix:PATH".
	Address string

	// Client connects to the inspector if this machine cannot connect to its address directly. The Address is then only
	// shown to people.
	Client *inspect.Client

	// Look reads a facet of an object by the inspector. Without it, [IntentLook] is rejected.
	Look func(ctx context.Context, from *inspect.Client, what Look) (Looked, error)

	// ReadOnly rejects all intents that change something with [ErrReadOnly].
	ReadOnly bool

	// Once ends the attachment when the operator ends, because the next operator has another address. Otherwise, the
	// attachment waits for another operator at the same address.
	Once bool
}

// reconnectEvery is the interval between attempts to connect to an operator that has ended.
const reconnectEvery = time.Second

// ErrReadOnly is the error of an intent that a read-only attachment rejects.
var ErrReadOnly = errors.New("the attachment is read-only; allow actions to change the operator")

// ErrOperatorEnded is the error of an attachment to an operator that has ended.
var ErrOperatorEnded = errors.New("the operator has ended")

// Attachment follows an operator that another process runs. It is safe for concurrent use.
type Attachment struct {
	*store
	options AttachOptions
	client  *inspect.Client
	level   atomic.Pointer[inspect.LogLevel] // requested log level; nil to keep the operator's level

	looking   sync.Mutex
	wanted    *wantedLook   // shown object; nil if no object is shown
	lookAgain chan struct{} // signals that wanted has changed
}

// NewAttachment returns an attachment to an operator. The error is an [*inspect.AddressError].
func NewAttachment(o AttachOptions) (*Attachment, error) {
	client := o.Client
	if client == nil {
		var err error
		if client, err = inspect.Dial(o.Address); err != nil {
			return nil, err
		}
	}
	a := &Attachment{store: newStore(), options: o, client: client, lookAgain: make(chan struct{}, 1)}
	a.update(func(s *State) {
		s.Attached, s.ReadOnly = o.Address, o.ReadOnly
		s.Process.Phase = ProcessStarting
	})
	return a, nil
}

// State returns the current state. It is never nil and never modified.
func (a *Attachment) State() *State { return a.get() }

// Changes delivers a value soon after the state has changed. It is closed when [Attachment.Run] has ended.
func (a *Attachment) Changes() <-chan struct{} { return a.changes }

// Objects returns nil, because an attachment has no access to the cluster.
func (a *Attachment) Objects() Objects { return nil }

// Run follows the operator until the context ends, and then returns nil. It returns an error if the operator has another
// version of the protocol. With [AttachOptions].Once, it returns [ErrOperatorEnded] when the operator ends.
func (a *Attachment) Run(ctx context.Context) error {
	defer a.close()
	looking, stopLooking := context.WithCancel(ctx)
	var looks sync.WaitGroup
	looks.Go(func() { a.followLooks(looking) })
	defer looks.Wait()
	defer stopLooking()
	for {
		err := a.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if _, foreign := errors.AsType[*inspect.VersionError](err); foreign {
			return fmt.Errorf("follow the operator at %s: %w", a.options.Address, err)
		}
		a.lost(err)
		if a.options.Once {
			return ErrOperatorEnded
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(reconnectEvery):
		}
	}
}

// follow reads the inspector until the stream ends.
func (a *Attachment) follow(ctx context.Context) error {
	var feed operatorFeed
	for m, err := range a.client.Messages(ctx) {
		if err != nil {
			return err
		}
		if m.Snapshot != nil {
			if level := a.level.Load(); level != nil {
				if err := a.client.Do(ctx, inspect.Intent{Kind: inspect.IntentLogLevel, Value: string(*level)}); err != nil {
					a.say(inspect.LevelWarn, fmt.Sprintf("cannot set the operator's log level to %s: %v", *level, err))
				}
			}
		}
		if snapshot := feed.receive(a.store, m); snapshot != nil {
			a.publish(snapshot)
		}
	}
	if reason, ended := feed.replica.Bye(); ended && reason != "" {
		return errors.New(reason)
	}
	return nil
}

// publish publishes the operator's snapshot.
func (a *Attachment) publish(snapshot *inspect.Snapshot) {
	a.update(func(s *State) {
		s.Snapshot, s.Live = snapshot, true
		s.Process = Process{Phase: ProcessRunning, PID: snapshot.Operator.PID, Started: snapshot.Operator.Started}
		s.Cluster = Cluster{Phase: ClusterReady, Provider: "cluster", Server: snapshot.Operator.Server, Reason: "the operator uses it"}
		if snapshot.Operator.Lost != "" {
			s.Cluster.Phase, s.Cluster.Error = ClusterGone, snapshot.Operator.Lost
		}
	})
}

// lost publishes that the operator does not respond.
func (a *Attachment) lost(err error) {
	a.update(func(s *State) {
		s.Live = false
		if s.Process.Phase == ProcessNone {
			return // the first error is more useful than later errors, which only report that nothing listens
		}
		s.Process.Phase, s.Process.Exit = ProcessNone, ErrOperatorEnded.Error()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.Process.Exit = "the operator was killed, or the connection to it was cut"
		case err != nil:
			s.Process.Exit = err.Error()
		}
	})
}

// Do carries out an intent. The error says why it was rejected, for people to read.
func (a *Attachment) Do(ctx context.Context, intent Intent) error {
	switch intent.Kind {
	case IntentLogLevel: // changes the log of readers, not the operator
		level := inspect.LogLevel(intent.Value)
		a.level.Store(&level)
	case IntentRetry, IntentRetryFailed, IntentReplay, IntentPause, IntentResume, IntentPauseObject, IntentStartOver, IntentFreeze, IntentRelease, IntentUnbrake:
		if a.options.ReadOnly {
			return ErrReadOnly
		}
	case IntentLook:
		return a.look(intent)
	default:
		return errors.New("another process runs the operator; kopf dev builds and restarts its own")
	}
	err := a.client.Do(ctx, inspect.Intent{
		Kind: inspect.IntentKind(intent.Kind), Object: intent.Object, Handler: intent.Handler, Value: intent.Value,
	})
	if refused, ok := errors.AsType[*inspect.RefusedError](err); ok {
		return refused
	}
	if err != nil {
		return fmt.Errorf("send %q to the operator: %w", intent.Kind, err)
	}
	return nil
}
