package inspect

// CatchUp is the progress of handling the objects that the operator has listed: at its start, after an interruption, or after a
// pause. Live changes are handled in between.
type CatchUp struct {
	Handled int `json:"handled"` // number of listed objects whose handling has ended, or waits for a retry or a slot
	Objects int `json:"objects"` // number of all listed objects since the catch-up began
}
