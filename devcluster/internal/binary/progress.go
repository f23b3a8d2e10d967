package binary

import "time"

// The steps on the way to a program, in order.
const (
	StepWait     = "wait"
	StepFetch    = "fetch" // download of the built program
	StepDownload = "download"
	StepCompile  = "compile"
	StepLink     = "link"
)

// Progress is one of the steps.
type Progress struct {
	Step string
	// Done and Total count megabytes, modules or packages. Total is 0 if it is unknown.
	Done, Total int
	// Remaining is the estimated time until the end of StepCompile. It is 0 in other steps.
	Remaining time.Duration
	Message   string
}
