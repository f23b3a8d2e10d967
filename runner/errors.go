package runner

import (
	"fmt"
	"strings"
)

// sdkPackage is the import path of package kopf.
const sdkPackage = "github.com/kopf-dev/kopf/sdk/kopf"

// ToolchainError reports that the command "go" is missing or cannot be run.
type ToolchainError struct{ Err error }

func (e *ToolchainError) Error() string {
	return fmt.Sprintf("cannot run the command \"go\", which builds operators: %v\n"+
		"install Go (https://go.dev), or add its bin folder to the PATH", e.Err)
}

func (e *ToolchainError) Unwrap() error { return e.Err }

// PackageError reports that a pattern does not match a usable Go package.
type PackageError struct {
	Pattern  string
	Reason   string // message of the go command or the file system
	NotFound bool   // the pattern names no package, so it is a usage error
}

func (e *PackageError) Error() string { return e.Pattern + ": " + e.Reason }

// NoRegisterError reports that no package has a function Register.
type NoRegisterError struct {
	Patterns   []string
	Found      []string // similar functions, with file and line
	Subfolders []string // subfolders that have a Register function
}

func (e *NoRegisterError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: no func Register(*kopf.Registry)", strings.Join(e.Patterns, " "))
	if len(e.Subfolders) > 0 {
		few := e.Subfolders[:min(len(e.Subfolders), maxSubfolders)]
		fmt.Fprintf(&b, " in this folder, but in folders below it; name the ones to run:\n%s", strings.Join(few, " "))
		if more := len(e.Subfolders) - len(few); more > 0 {
			fmt.Fprintf(&b, " (and %d more)", more)
		}
		return b.String()
	}
	if len(e.Found) > 0 {
		fmt.Fprintf(&b, "; found %s", strings.Join(e.Found, ", "))
	}
	b.WriteString("\nadd this function and register your handlers in it:\n" + registerTemplate)
	return b.String()
}

// maxSubfolders is the number of folders that the error lists.
const maxSubfolders = 5

const registerTemplate = `
	import "` + sdkPackage + `"

	func Register(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource("example.com/v1", "things"), create)
	}
`

// SignatureError reports a function Register with a wrong signature.
type SignatureError struct {
	File   string // path of the file; relative if the file is below the current folder
	Line   int
	Column int
	Got    string // the type found, such as "func(r kopf.Registry) error"
}

func (e *SignatureError) Error() string {
	return fmt.Sprintf("%s:%d: Register is %s; it must be func(*kopf.Registry), with kopf from %q",
		e.File, e.Line, e.Got, sdkPackage)
}

// CombinationError reports packages that cannot be built into one operator.
type CombinationError struct {
	Packages []string
	Reason   string
}

func (e *CombinationError) Error() string {
	return fmt.Sprintf("cannot build one operator from %s: %s", strings.Join(e.Packages, " and "), e.Reason)
}

// ForeignStateError reports that another process publishes its state at the operator's address.
type ForeignStateError struct {
	Address string
	PID     int // id of the other process
}

func (e *ForeignStateError) Error() string {
	return fmt.Sprintf("another operator (process %[2]d) publishes its state at %[1]s; stop it, or choose another address with --inspect",
		e.Address, e.PID)
}

// ClusterEndedError reports that the cluster ended while it was in use.
type ClusterEndedError struct{ Name string }

func (e *ClusterEndedError) Error() string {
	return fmt.Sprintf("the control plane of the cluster %s exited unexpectedly", e.Name)
}
