package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Intent is something that the user of a [Session] wishes to happen.
type Intent struct {
	Kind   IntentKind
	Object *inspect.Ref // for [IntentRetry]
	Value  string       // the level of [IntentLogLevel]; a path for [IntentApply], which may be empty
}

// IntentKind tells intents apart.
type IntentKind string

// The intents.
const (
	IntentRebuild IntentKind = "rebuild" // build and, if it succeeds, restart
	IntentRestart IntentKind = "restart" // the operator, without a build; now, if it has crashed; or the cluster, if it failed
	IntentApply   IntentKind = "apply"   // the manifests

	IntentRetry    IntentKind = "retry"
	IntentPause    IntentKind = "pause"
	IntentResume   IntentKind = "resume"
	IntentLogLevel IntentKind = "loglevel"
)

// request is an intent that the loop fulfils.
type request struct {
	intent Intent
	reply  chan error
}

// Do fulfils a wish. The error is for a person to read.
func (s *Session) Do(ctx context.Context, intent Intent) error {
	switch intent.Kind {
	case IntentRebuild, IntentRestart, IntentApply:
		return s.request(ctx, intent)
	case IntentLogLevel:
		s.mu.Lock()
		s.logLevel = intent.Value // for the operators to come, too
		s.mu.Unlock()
		return s.ask(ctx, intent)
	case IntentRetry, IntentPause, IntentResume:
		return s.ask(ctx, intent)
	}
	return fmt.Errorf("no such intent: %q", intent.Kind)
}

// errEnded is the answer to wishes that come too late.
var errEnded = errors.New("the session has ended")

// request has an intent fulfilled by the loop.
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

// ask has an intent fulfilled by the operator.
func (s *Session) ask(ctx context.Context, intent Intent) error {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return s.notRunning()
	}
	err := client.Do(ctx, inspect.Intent{Kind: inspect.IntentKind(intent.Kind), Object: intent.Object, Value: intent.Value})
	if refused, ok := errors.AsType[*inspect.RefusedError](err); ok {
		return refused
	}
	if err != nil {
		return fmt.Errorf("the operator does not answer: %w", err)
	}
	return nil
}

// notRunning says why nothing can be asked of the operator.
func (s *Session) notRunning() error {
	switch state := s.State(); {
	case state.Process.Phase == ProcessCrashed:
		return errors.New("the operator has crashed")
	case state.Process.Phase != ProcessNone:
		return fmt.Errorf("the operator is %s", state.Process.Phase)
	case state.Build.Phase == BuildFailed:
		return errors.New("the operator does not run: its build failed")
	case state.Cluster.Phase != ClusterReady:
		return errors.New("the operator does not run: the cluster is not ready")
	}
	return errors.New("the operator does not run yet")
}

// fulfil does what a request asks for. Restarts and rebuilds are answered when they
// begin: what comes of them is in the state.
func (l *loop) fulfil(r request) {
	switch r.intent.Kind {
	case IntentRebuild:
		l.startBuild(cause{at: time.Now(), forced: true})
		r.reply <- nil
	case IntentRestart:
		if l.cluster == nil && !l.opening {
			l.openCluster() // it has failed, and the cause may be mended by now
			r.reply <- nil
			return
		}
		if l.binary == "" {
			r.reply <- l.notRunning()
			return
		}
		l.remember(Reload{At: time.Now(), Built: true})
		l.wantOperator()
		r.reply <- nil
	case IntentApply:
		paths := l.State().Manifests
		if r.intent.Value != "" {
			paths = []string{r.intent.Value}
		}
		switch {
		case len(paths) == 0:
			r.reply <- errors.New("there are no manifests beside the code; give some with --apply")
		case l.cluster == nil:
			r.reply <- errors.New("the cluster is not ready")
		default:
			l.apply(paths, r.reply)
		}
	}
}
