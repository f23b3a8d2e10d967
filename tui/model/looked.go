package model

import (
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// LookedAt returns what the cluster tells of a facet of an object; nil if that is not looked at.
func (s *State) LookedAt(ref inspect.Ref, facet runner.Facet) *runner.Looked {
	if l := s.Looked; l != nil && l.Facet == facet && SameObject(l.Object, ref) {
		return l
	}
	return nil
}

// NotConnected returns why the cluster itself cannot be asked to show or to change objects. It is empty if it can.
func (s *State) NotConnected() string {
	switch {
	case s.Attached != "":
		return "kopf attach asks only the operator, not the cluster; kopf dev asks both"
	case s.Lost() != "":
		return "the cluster does not answer"
	case s.Cluster.Phase != runner.ClusterReady:
		return "the cluster is not ready"
	}
	return ""
}

// EventWord returns the word for the type of a Kubernetes event.
func EventWord(warning bool) Word {
	if warning {
		return Word{"!", "warning", Warn}
	}
	return Word{"✓", "normal", OK}
}
