package explain

import "github.com/kopf-dev/kopf/sdk/inspect"

// AllListed reports whether an operator has listed all objects. Before that, an object that
// the operator does not publish may still exist.
func AllListed(s *inspect.Snapshot) bool {
	if s == nil || s.Operator.State == inspect.OperatorStarting {
		return false
	}
	for _, r := range s.Served {
		if !r.Listed {
			return false
		}
	}
	// Until the operator has resolved the selectors of its handlers, all three lists are empty.
	return len(s.Handlers) == 0 || len(s.Served)+len(s.Reviewed)+len(s.Unserved) > 0
}
