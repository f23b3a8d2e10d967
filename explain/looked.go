package explain

import (
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// LookedAt returns a facet of an object in the cluster; nil if the facet is not followed.
func (s *State) LookedAt(ref inspect.Ref, facet runner.Facet) *runner.Looked {
	if l := s.Looked; l != nil && l.Facet == facet && SameObject(l.Object, ref) {
		return l
	}
	return nil
}

// NotConnected returns why objects of the cluster cannot be changed. It is empty if they can.
func (s *State) NotConnected() string {
	switch {
	case s.Attached != "":
		return "kopf attach changes no objects; kopf dev does"
	case s.Lost() != "":
		return "the cluster does not answer"
	case s.Cluster.Phase != runner.ClusterReady:
		return "the cluster is not ready"
	}
	return ""
}

// NotLooking returns why objects of the cluster cannot be shown, or an empty string if they can. With kopf attach,
// the operator reads the objects.
func (s *State) NotLooking() string {
	switch {
	case s.Attached == "":
		return s.NotConnected()
	case s.Lost() != "":
		return "the cluster does not answer"
	case !s.Live:
		return "the operator is not running"
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
