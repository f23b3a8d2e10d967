package inspect

// ObjectContent is an object as the API server has it, without the data of Secrets and the values of fields that the
// operator hides.
type ObjectContent struct {
	Object map[string]any `json:"object,omitempty"`
	Error  string         `json:"error,omitempty"` // error of the read, for people
}

// ObjectEvents are the newest 500 Kubernetes events about an object as the API server has them, without their managed
// fields and in no particular order. Hidden values of the object are replaced in them.
type ObjectEvents struct {
	Events []map[string]any `json:"events,omitempty"`
	Error  string           `json:"error,omitempty"` // error of the read, for people
}
