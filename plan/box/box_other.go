//go:build !linux

package box

// Main does nothing: boxes need Linux.
func Main() {}

// Check returns an [*UnavailableError]: boxes need Linux.
func Check(string) error { return &UnavailableError{Reason: "it does not run Linux"} }

// Start returns an [*UnavailableError]: boxes need Linux.
func Start(Spec) (*Process, error) { return nil, Check("") }
