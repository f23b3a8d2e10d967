package runner

import (
	"slices"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Progress follows the states of a session or an attachment, and reports whether the newest code has handled the
// applied objects, and all other known objects. The zero value is ready to use. It is not safe for concurrent use.
type Progress struct {
	application time.Time // time of the application whose objects are followed
	settling    *settlement.Settling
	state       *State
}

// Note updates the progress by a state. It ignores states that are older than the last state.
func (p *Progress) Note(s *State) {
	if p.state != nil && s.Revision < p.state.Revision {
		return
	}
	p.state = s
	if p.settling == nil || !s.Application.At.Equal(p.application) {
		p.application = s.Application.At
		p.settling = settlement.NewSettling(slices.Clone(s.Application.Objects))
	}
	if s.Snapshot != nil {
		p.settling.Note(s.Snapshot, false)
	}
}

// Unsettled returns the objects of the last state that are not settled yet, and the objects that failed permanently
// or will never be handled.
func (p *Progress) Unsettled(now time.Time) (pending, failed []settlement.Unsettled) {
	if p.state == nil {
		return []settlement.Unsettled{{What: "nothing is known of the operator yet"}}, nil
	}
	if reason := notHandling(p.state); reason != "" {
		return []settlement.Unsettled{{What: reason}}, nil
	}
	all := settlement.NewSettling(nil).Check(p.state.Snapshot, now)
	if len(p.settling.Wanted) == 0 {
		return all.Pending, all.Failed
	}
	applied := p.settling.Check(p.state.Snapshot, now)
	return union(applied.Pending, all.Pending), union(applied.Failed, all.Failed)
}

// union appends the elements that are not in the list.
func union(list, more []settlement.Unsettled) []settlement.Unsettled {
	for _, u := range more {
		if !slices.Contains(list, u) {
			list = append(list, u)
		}
	}
	return list
}

// notHandling returns why the operator with the newest code does not handle objects yet; empty if it does.
func notHandling(s *State) string {
	switch {
	case s.Attached != "" && !s.Live:
		return "the operator does not answer"
	case s.Attached != "":
		return ""
	case s.Cluster.Phase != ClusterReady:
		return "the cluster is not ready"
	case s.Build.Phase != BuildBuilt:
		return "the operator is being built"
	case s.Process.Phase != ProcessRunning || !s.Live:
		return "the operator is not running yet"
	case s.Snapshot.Operator.State == inspect.OperatorStarting:
		return "the operator is still starting"
	case len(s.Application.Waiting) > 0:
		return "the objects that the operator reviews are not applied yet"
	}
	return ""
}
