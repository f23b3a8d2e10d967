package binary

// The steps of a build, in order.
const (
	StepWait     = "wait"
	StepDownload = "download"
	StepCompile  = "compile"
	StepLink     = "link"
)

// Progress is one step of a build.
type Progress struct {
	Step string
	// Done and Total count modules or packages. Total is 0 if it is unknown.
	Done, Total int
	Message     string
}
