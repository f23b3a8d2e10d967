package runner

import (
	"fmt"
	"strings"
)

// sdkPackage is the import path of the package that operators are written with.
const sdkPackage = "github.com/kopf-dev/kopf/sdk/kopf"

// ToolchainError tells that the Go toolchain is missing, or does not work.
type ToolchainError struct{ Err error }

func (e *ToolchainError) Error() string {
	return fmt.Sprintf("operators are built with Go, and the command \"go\" cannot be run: %v\n"+
		"install Go (https://go.dev), or put its bin folder on the PATH", e.Err)
}

func (e *ToolchainError) Unwrap() error { return e.Err }

// PackageError tells that a pattern does not lead to Go packages.
type PackageError struct {
	Pattern string
	Reason  string // what the go command says, or the file system
}

func (e *PackageError) Error() string { return e.Pattern + ": " + e.Reason }

// NoRegisterError tells that no package has a function Register.
type NoRegisterError struct {
	Patterns []string
	Found    []string // what looks like an attempt at it, with file and line
	Beneath  []string // the folders beneath that have one
}

func (e *NoRegisterError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: no func Register(*kopf.Registry)", strings.Join(e.Patterns, " "))
	if len(e.Beneath) > 0 {
		few := e.Beneath[:min(len(e.Beneath), maxBeneath)]
		fmt.Fprintf(&b, " here, but in folders beneath; name those that you mean:\n%s", strings.Join(few, " "))
		if more := len(e.Beneath) - len(few); more > 0 {
			fmt.Fprintf(&b, " (and %d more)", more)
		}
		return b.String()
	}
	if len(e.Found) > 0 {
		fmt.Fprintf(&b, "; there is %s", strings.Join(e.Found, ", "))
	}
	b.WriteString("\nwrite this, and register your handlers in it:\n" + registerTemplate)
	return b.String()
}

// maxBeneath is how many folders an error names.
const maxBeneath = 5

const registerTemplate = `
	import "` + sdkPackage + `"

	func Register(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource("example.com/v1", "things"), create)
	}
`

// SignatureError tells that a function Register is not as it must be.
type SignatureError struct {
	File   string // as a person would write it
	Line   int
	Column int
	Got    string // "func(r kopf.Registry) error"
}

func (e *SignatureError) Error() string {
	return fmt.Sprintf("%s:%d: Register is a %s; it must be func(*kopf.Registry), with kopf from %q",
		e.File, e.Line, e.Got, sdkPackage)
}

// CombinationError tells that packages cannot be one operator together.
type CombinationError struct {
	Packages []string
	Reason   string
}

func (e *CombinationError) Error() string {
	return fmt.Sprintf("%s cannot be one operator: %s", strings.Join(e.Packages, " and "), e.Reason)
}

// ForeignStateError tells that the state which is published where the operator's should be
// is that of another process.
type ForeignStateError struct {
	Address string
	PID     int // of the other process
}

func (e *ForeignStateError) Error() string {
	return fmt.Sprintf("the state at %s is that of another operator, the process %d: end it, or use another address with --inspect",
		e.Address, e.PID)
}

// ClusterEndedError tells that the cluster has ended while it was needed.
type ClusterEndedError struct{ Name string }

func (e *ClusterEndedError) Error() string {
	return fmt.Sprintf("the control plane of the cluster %s has ended by itself", e.Name)
}
