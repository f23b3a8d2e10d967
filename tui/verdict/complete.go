package verdict

import "github.com/kopf-dev/kopf/sdk/inspect"

// Complete tells whether an operator knows of all objects that there are. One that has just
// started does not: that it does not show an object does not mean that it is gone.
func Complete(s *inspect.Snapshot) bool {
	if s == nil || s.Operator.State == inspect.OperatorStarting {
		return false
	}
	for _, r := range s.Served {
		if !r.Listed {
			return false
		}
	}
	// An operator with handlers that has not found out yet what they are for has neither.
	return len(s.Handlers) == 0 || len(s.Served)+len(s.Unserved) > 0
}
