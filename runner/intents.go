package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Intent is a request of the user to a [Session].
type Intent struct {
	Kind    IntentKind
	Object  *inspect.Ref // object of [IntentRetry], [IntentPauseObject], [IntentStartOver] and [IntentLook]
	Handler string       // id of the only handler for [IntentRetry] and [IntentRetryFailed]; empty for all handlers
	Value   string       // the level for [IntentLogLevel]; the review for [IntentReplay]; the executable for [IntentRun]; an optional path for [IntentApply]; the facet for [IntentLook]; see the kinds of peering
}

// IntentKind is the kind of an [Intent].
type IntentKind string

// The kinds of intents. The session handles the first five kinds, and the operator the other kinds.
const (
	IntentRebuild IntentKind = "rebuild" // build and, if that succeeds, restart
	IntentRun     IntentKind = "run"     // run the build in the Value, [Build].Held; rejected if another one has replaced it
	IntentRestart IntentKind = "restart" // restart the operator without a build; reopen the cluster if it has failed
	IntentApply   IntentKind = "apply"   // apply the manifests
	IntentLook    IntentKind = "look"    // publish the [Facet] in the Value as [State].Looked, and keep it up to date; nothing if the object is nil

	IntentRetry       IntentKind = "retry"       // call delayed and failed handlers of the object now
	IntentRetryFailed IntentKind = "retryfailed" // call failed handlers of all objects again
	IntentReplay      IntentKind = "replay"      // call the admission handlers for an earlier review again, as a dry run
	IntentPause       IntentKind = "pause"
	IntentResume      IntentKind = "resume"
	IntentLogLevel    IntentKind = "loglevel"

	IntentPauseObject IntentKind = "pauseobject" // pause one object by its annotation; resume it if the Value, the reason, is empty
	IntentStartOver   IntentKind = "startover"   // delete the records on an object, so that it is handled like a new object
	IntentFreeze      IntentKind = "freeze"      // pause operators through peering for the duration in the Value
	IntentUnbrake     IntentKind = "unbrake"     // delete the children that the brake keeps: of the objects of the resource in the Value, or of all
	IntentRelease     IntentKind = "release"     // remove the record of the peer whose identity is the Value
)

// request is an intent that the loop handles.
type request struct {
	intent Intent
	reply  chan error
}

// Do carries out an intent. The error says why it was rejected, for people to read.
func (s *Session) Do(ctx context.Context, intent Intent) error {
	switch intent.Kind {
	case IntentRebuild, IntentRun, IntentRestart, IntentApply, IntentLook:
		return s.request(ctx, intent)
	case IntentLogLevel:
		s.mu.Lock()
		s.logLevel = intent.Value // applies to later processes, too
		s.mu.Unlock()
		return s.sendToOperator(ctx, intent)
	case IntentRetry, IntentRetryFailed, IntentReplay, IntentPause, IntentResume, IntentPauseObject, IntentStartOver, IntentFreeze, IntentRelease, IntentUnbrake:
		return s.sendToOperator(ctx, intent)
	}
	return fmt.Errorf("unknown intent %q", intent.Kind)
}

// errEnded is the error of intents after the end of the session.
var errEnded = errors.New("the session has ended")

// request passes an intent to the loop and waits for the result.
func (s *Session) request(ctx context.Context, intent Intent) error {
	r := request{intent: intent, reply: make(chan error, 1)}
	select {
	case s.requests <- r:
	case <-s.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-r.reply:
		return err
	case <-s.ended:
		return errEnded
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// sendToOperator sends an intent to the operator and waits for the result.
func (s *Session) sendToOperator(ctx context.Context, intent Intent) error {
	client, err := s.operatorClient()
	if err != nil {
		return err
	}
	err = client.Do(ctx, inspect.Intent{
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

// notRunning returns the reason why no operator can handle an intent.
func (s *Session) notRunning() error {
	switch state := s.State(); {
	case state.Process.Phase == ProcessCrashed:
		return errors.New("the operator has crashed")
	case state.Process.Phase != ProcessNone:
		return fmt.Errorf("the operator is %s", state.Process.Phase)
	case state.Build.Phase == BuildFailed:
		return errors.New("the operator is not running: its build failed")
	case state.Cluster.Phase != ClusterReady:
		return errors.New("the operator is not running: the cluster is not ready")
	}
	return errors.New("the operator is not running yet")
}

// handleIntent carries out a request. Restarts and rebuilds are answered when they begin;
// their outcome is in the state.
func (l *loop) handleIntent(r request) {
	switch r.intent.Kind {
	case IntentRebuild:
		l.triggerBuild(trigger{at: time.Now(), forced: true})
		r.reply <- nil
	case IntentRun:
		r.reply <- l.runHeld(r.intent.Value)
	case IntentRestart:
		if l.cluster == nil && !l.opening {
			l.openCluster() // the user may have fixed the reason of the failure
			r.reply <- nil
			return
		}
		if l.binary == "" {
			r.reply <- l.notRunning()
			return
		}
		l.recordReload(Reload{At: time.Now(), Built: true})
		l.requestNewProcess()
		r.reply <- nil
	case IntentLook:
		r.reply <- l.look(r.intent)
	case IntentApply:
		paths := l.State().Manifests
		if r.intent.Value != "" {
			paths = []string{r.intent.Value}
		}
		switch {
		case len(paths) == 0:
			r.reply <- errors.New("no manifests to apply: the folders of the packages have none; name some with --apply")
		case l.cluster == nil:
			r.reply <- errors.New("cannot apply the manifests: the cluster is not ready")
		default:
			l.reapplies = l.reapplies || r.intent.Value == ""
			l.apply(paths, settlement.Part{}, r.reply)
		}
	}
}
