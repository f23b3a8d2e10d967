package runner

import (
	"slices"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

type clusterResult struct {
	cluster Cluster
	err     error
}

type applyResult struct {
	applied []settlement.Applied
	err     error
	part    settlement.Part
	cluster *Cluster
	reply   chan error // nil for the initial manifests
}

func (l *loop) openCluster() {
	l.opening = true
	l.store.update(func(s *State) { s.Cluster = Cluster{Phase: ClusterStarting} })
	l.tasks.Go(func() {
		cluster, err := l.opts.OpenCluster(l.ctx, func(c Cluster) {
			l.store.update(func(s *State) { s.Cluster = c })
		})
		post(l.ctx, l.opened, clusterResult{cluster, err})
	})
}

func (l *loop) handleClusterResult(r clusterResult) {
	l.opening = false
	if r.err != nil {
		l.store.update(func(s *State) { s.Cluster.Phase, s.Cluster.Error = ClusterFailed, r.err.Error() })
		if l.opts.Unattended {
			l.fatal = r.err
		}
		return
	}
	r.cluster.Phase = ClusterReady
	l.cluster = &r.cluster
	l.store.update(func(s *State) { s.Cluster = r.cluster })
	l.watchClusterEnd(l.cluster)
	l.lookAgain()
	l.initial, l.reapplies = l.initial.restarted(), l.reapplies || len(l.opts.Manifests) > 0
	if len(l.opts.Manifests) == 0 {
		l.initial.next = settlement.StageNone
	}
}

// watchClusterEnd reports the end of the cluster to the loop, if the cluster announces it.
func (l *loop) watchClusterEnd(cluster *Cluster) {
	if cluster.Ended == nil {
		return
	}
	l.tasks.Go(func() {
		select {
		case <-cluster.Ended:
			post(l.ctx, l.lost, cluster)
		case <-l.ctx.Done():
		}
	})
}

// handleClusterEnd stops the operator, because its requests cannot succeed until [IntentRestart] opens the cluster again.
func (l *loop) handleClusterEnd(cluster *Cluster) {
	ended := &ClusterEndedError{Name: cluster.Name}
	l.cluster = nil
	l.loseWayIn()
	l.requestNewProcess()
	l.store.update(func(s *State) { s.Cluster.Phase, s.Cluster.Error = ClusterFailed, ended.Error() })
	if l.opts.Unattended {
		l.fatal = ended
	}
}

// apply applies a part of manifests.
func (l *loop) apply(paths []string, part settlement.Part, reply chan error) {
	l.applying = true
	l.store.update(func(s *State) { s.SavedManifests = nil }) // only files that are saved later count as saved
	cluster := l.cluster
	l.tasks.Go(func() {
		applied, err := l.opts.Apply(l.ctx, paths, part)
		post(l.ctx, l.appliedAt, applyResult{applied: applied, err: err, part: part, cluster: cluster, reply: reply})
	})
}

func (l *loop) handleApplied(r applyResult) {
	l.applying = false
	result := settlement.NewApplication(r.applied, r.err)
	for _, o := range result.Objects {
		l.store.say(inspect.LevelInfo, o.String())
	}
	said := l.initial.application.Refused
	initial := r.part.Stage != settlement.StageAll
	if initial && r.cluster != l.cluster {
		return // all manifests are applied to the next cluster
	}
	if initial {
		result = l.initial.add(result, r.part)
	}
	for _, refused := range result.Refused {
		if !initial || !slices.Contains(said, refused) {
			l.store.say(inspect.LevelError, "cannot apply the manifests: "+refused)
		}
	}
	l.store.update(func(s *State) { s.Application = result })
	if r.reply != nil {
		r.reply <- r.err
	}
	defer l.reapplySaved() // files may have been saved during the application
	if r.err != nil && l.opts.Unattended && initial {
		l.fatal = r.err
		return
	}
	if initial && l.initial.next != settlement.StageNone {
		if len(result.Waiting) > 0 {
			l.store.say(inspect.LevelInfo, "applied when the operator is ready, because it reviews them: "+strings.Join(result.Waiting, ", "))
		}
		return
	}
	l.want(result.Objects)
	l.store.say(inspect.LevelInfo, result.String())
}

// want adds to the objects that [Session.Settled] waits for.
func (s *Session) want(applied []settlement.Applied) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range applied {
		s.applied = slices.DeleteFunc(s.applied, func(old settlement.Applied) bool { return old.Ref == a.Ref })
		s.applied = append(s.applied, a)
	}
	s.settling = settlement.NewSettling(slices.Clone(s.applied))
	settling, state := s.settling, s.State()
	if state.Live { // checks the current snapshot, because the operator may send no new one
		s.publishCheck(func() settlement.Settlement { return settling.Check(state.Snapshot, time.Now()) })
	}
}
