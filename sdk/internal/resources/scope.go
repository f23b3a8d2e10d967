package resources

// Scope is one resource in one namespace, or in the whole cluster: what one watch stream covers.
type Scope struct {
	Resource  string // the key of the resource
	Namespace string // empty for the whole cluster
}

// String returns the scope as log lines name it.
func (s Scope) String() string {
	if s.Namespace == "" {
		return s.Resource + " cluster-wide"
	}
	return s.Resource + " in " + s.Namespace
}
