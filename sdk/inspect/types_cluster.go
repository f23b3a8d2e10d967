package inspect

// ObjectContent is the current version of an object in the cluster, without the data of Secrets and the values of fields that
// the operator hides.
type ObjectContent struct {
	Object map[string]any `json:"object,omitempty"`
	Error  string         `json:"error,omitempty"` // error of the read, for people
}

// ObjectEvents are the newest 500 Kubernetes events about an object, in no particular order. They have no managed fields, and
// hidden values of the object are replaced.
type ObjectEvents struct {
	Events []map[string]any `json:"events,omitempty"`
	Error  string           `json:"error,omitempty"` // error of the read, for people
}
