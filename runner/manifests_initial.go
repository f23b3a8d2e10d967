package runner

import (
	"fmt"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// initialManifests is the progress of applying a session's manifests to an open cluster. Only the loop uses it.
type initialManifests struct {
	next        settlement.Stage // stage that is being applied or is applied next
	reviewed    []string         // see [Part]; nil before the operator is built
	application settlement.Application

	reviewer *operator   // newest operator that became ready to review objects
	limit    *time.Timer // fires when an operator takes too long to become ready
}

func newInitialManifests() initialManifests {
	m := initialManifests{next: settlement.StageSetup, limit: time.NewTimer(time.Hour)}
	m.limit.Stop()
	return m
}

// restarted returns the state after the cluster was replaced or restarted.
func (m initialManifests) restarted() initialManifests {
	return initialManifests{next: settlement.StageSetup, limit: m.limit}
}

// letStart reports whether the operator may start.
func (m *initialManifests) letStart() bool {
	return m.next == settlement.StageReviewed || m.next == settlement.StageNone
}

// add adds the result of applying a part of the manifests. It returns the result of all parts that were applied.
func (m *initialManifests) add(result settlement.Application, part settlement.Part) settlement.Application {
	switch m.reviewed = part.Reviewed; {
	case part.Stage == settlement.StageSetup:
		m.next = settlement.StageUnreviewed
	case part.Stage == settlement.StageUnreviewed && len(part.Reviewed) > 0:
		m.next, result.Waiting = settlement.StageReviewed, part.Reviewed
	default:
		m.next = settlement.StageNone
	}
	m.application = m.application.And(result)
	return m.application
}

// applyNext applies the next part of the manifests if its conditions are met.
func (l *loop) applyNext() {
	if l.cluster == nil || l.applying || l.initial.next == settlement.StageNone {
		return
	}
	switch part := (settlement.Part{Stage: l.initial.next, Reviewed: l.initial.reviewed}); {
	case part.Stage == settlement.StageSetup:
		l.apply(l.opts.Manifests, part, nil)
	case part.Stage == settlement.StageUnreviewed && l.binary != "":
		l.applyUnreviewed(l.binary)
	case part.Stage == settlement.StageReviewed && l.operator != nil && l.initial.reviewer == l.operator:
		l.initial.limit.Stop()
		part.Operator = func() *inspect.Snapshot { return l.State().Snapshot }
		l.apply(l.opts.Manifests, part, nil)
	}
}

// applyUnreviewed applies the objects that a built operator does not review.
func (l *loop) applyUnreviewed(binary string) {
	l.applying = true
	part, cluster := settlement.Part{Stage: settlement.StageUnreviewed}, l.cluster
	l.tasks.Go(func() {
		var applied []settlement.Applied
		var err error
		if l.opts.Reviewed != nil {
			part.Reviewed, err = l.opts.Reviewed(l.ctx, binary, l.opts.Manifests)
		}
		if err == nil {
			applied, err = l.opts.Apply(l.ctx, l.opts.Manifests, part)
		}
		post(l.ctx, l.appliedAt, applyResult{applied: applied, err: err, part: part, cluster: cluster})
	})
}

// noteReadiness passes an operator to the loop, once, when the operator is ready to review objects.
func (l *loop) noteReadiness(op *operator, snapshot *inspect.Snapshot) {
	if op.reviews || !settlement.Readiness(snapshot).Done() {
		return
	}
	op.reviews = true
	select {
	case <-l.readied: // a previous operator
	default:
	}
	select {
	case l.readied <- op:
	default: // the channel has space for one operator, and only this goroutine sends
	}
}

// checkUnapplied returns the check of a state that the manifests wait for.
func (l *loop) checkUnapplied(snapshot *inspect.Snapshot) func() settlement.Settlement {
	return func() settlement.Settlement {
		s := settlement.Readiness(snapshot)
		what := "the manifests are not applied yet"
		if waiting := l.State().Application.Waiting; len(waiting) > 0 {
			what = "not applied yet, because the operator reviews them: " + strings.Join(waiting, ", ")
		}
		s.Pending = append(s.Pending, settlement.Unsettled{What: what})
		return s
	}
}

// limitReadiness starts the time limit for an operator to become ready to review objects.
func (l *loop) limitReadiness() {
	if l.initial.next == settlement.StageReviewed {
		l.initial.limit.Reset(settlement.ReadyLimit)
	}
}

// handleNotReady logs the reason why an operator did not become ready in time.
func (l *loop) handleNotReady() {
	if l.initial.next != settlement.StageReviewed || l.applying {
		return
	}
	err := &settlement.NotReadyError{Limit: settlement.ReadyLimit, Kinds: l.initial.reviewed}
	if s := l.State(); s.Live {
		err.Pending = settlement.Readiness(s.Snapshot).Pending
	} else {
		err.Pending = []settlement.Unsettled{{What: fmt.Sprintf("the operator is %s", s.Process.Phase)}}
	}
	l.store.say(inspect.LevelError, err.Error())
	if l.opts.Once {
		l.fatal = err
	}
}
