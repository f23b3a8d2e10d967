package inspect

import "time"

// Alarm is a problem although no handler fails. The kind determines which fields are set.
type Alarm struct {
	Kind  AlarmKind `json:"kind"`
	Since time.Time `json:"since"`

	// Object is the looping object, or the object with the Child. Of [AlarmBrake], it has only the resource.
	Object *Ref `json:"object,omitempty"`

	Field string `json:"field,omitempty"` // path of the field that the operator changes repeatedly; may be empty for [AlarmUnstable]
	Count int    `json:"count,omitempty"` // number of consecutive patches; of [AlarmBrake], number of objects whose children are kept

	Child   *KindRef `json:"child,omitempty"`   // child of [AlarmFight] and [AlarmUnstable]
	Manager string   `json:"manager,omitempty"` // field manager that changes the field; empty if it is unknown

	Verb      string `json:"verb,omitempty"`      // verb of the refused request
	Resource  string `json:"resource,omitempty"`  // such as "pods.v1/status"; of [AlarmBrake], the resource of the children
	Namespace string `json:"namespace,omitempty"` // namespace of the refused request; empty for the whole cluster
	Message   string `json:"message,omitempty"`   // message of the API server

	Was int64 `json:"was,omitempty"` // number of bytes or goroutines at the start of the growth
	Is  int64 `json:"is,omitempty"`  // current number of bytes or goroutines
}

// AlarmKind is the kind of an [Alarm].
type AlarmKind string

// The kinds of alarms.
const (
	AlarmHotLoop    AlarmKind = "hotloop"    // the operator's patch of an object causes the same patch again
	AlarmForbidden  AlarmKind = "forbidden"  // a permission is missing
	AlarmMemory     AlarmKind = "memory"     // the memory in use grows, and the number of objects does not
	AlarmGoroutines AlarmKind = "goroutines" // the number of goroutines grows while the number of objects does not
	AlarmFight      AlarmKind = "fight"      // another client changes the same field of a child whenever the operator takes it back
	AlarmUnstable   AlarmKind = "unstable"   // a reconcile handler wants another text for a child in each pass
	AlarmBrake      AlarmKind = "brake"      // the operator has stopped to prune children, because it pruned many after its start
)
