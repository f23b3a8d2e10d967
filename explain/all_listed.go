package explain

import "github.com/kopf-dev/kopf/sdk/inspect"

// AllListed reports whether an operator has listed all objects. One that has just started
// has not: an object that it does not publish is not necessarily gone.
func AllListed(s *inspect.Snapshot) bool {
	if s == nil || s.Operator.State == inspect.OperatorStarting {
		return false
	}
	for _, r := range s.Served {
		if !r.Listed {
			return false
		}
	}
	// Until the selectors of its handlers are resolved, the operator has none of them.
	return len(s.Handlers) == 0 || len(s.Served)+len(s.Reviewed)+len(s.Unserved) > 0
}
