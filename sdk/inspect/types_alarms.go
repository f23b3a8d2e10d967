package inspect

import "time"

// Alarm is something that goes wrong although no handler fails. The fields that are set depend on the kind.
type Alarm struct {
	Kind  AlarmKind `json:"kind"`
	Since time.Time `json:"since"`

	Object *Ref   `json:"object,omitempty"` // looping object, of [AlarmHotLoop]
	Field  string `json:"field,omitempty"`  // path of the field that the operator changes again and again
	Count  int    `json:"count,omitempty"`  // number of patches in a row

	Verb      string `json:"verb,omitempty"`      // verb of the refused request
	Resource  string `json:"resource,omitempty"`  // such as "pods.v1/status"
	Namespace string `json:"namespace,omitempty"` // namespace of the refused request; empty for the whole cluster
	Message   string `json:"message,omitempty"`   // message of the API server

	Was int64 `json:"was,omitempty"` // bytes or goroutines at first
	Is  int64 `json:"is,omitempty"`  // bytes or goroutines now
}

// AlarmKind is the kind of an [Alarm].
type AlarmKind string

// The kinds of alarms.
const (
	AlarmHotLoop    AlarmKind = "hotloop"    // the operator's patch of an object causes the same patch again
	AlarmForbidden  AlarmKind = "forbidden"  // a permission is missing
	AlarmMemory     AlarmKind = "memory"     // the memory in use grows, and the number of objects does not
	AlarmGoroutines AlarmKind = "goroutines" // the number of goroutines grows while the number of objects does not
)
