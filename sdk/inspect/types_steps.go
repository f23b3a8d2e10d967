package inspect

import "time"

// Step is a step of a handler that is recorded on the object, or runs now: see kopf.Step. Its result is not published.
type Step struct {
	Name  string    `json:"name"`
	State StepState `json:"state"`
	Key   string    `json:"key"`            // idempotency key
	At    time.Time `json:"at"`             // end of the call, or its start if the step runs
	Once  bool      `json:"once,omitempty"` // must happen at most once, so that no process repeats the call
}

// StepState is the state of a step.
type StepState string

// The states of a step.
const (
	StepRecorded   StepState = "recorded"
	StepRunning    StepState = "running"
	StepUnrecorded StepState = "unrecorded" // succeeded, but the API server has not accepted the record: the next process repeats the call
	StepUnsure     StepState = "unsure"     // must happen at most once, has started, and has no result: see kopf.ErrStepUnsure
	StepUnknown    StepState = "unknown"    // recorded, but the last attempt of the handler has passed it without asking for it: probably renamed or removed
	StepAbandoned  StepState = "abandoned"  // unsure, and the last attempt of the handler has passed it without asking for it: probably renamed or removed
)
