package devcluster

import "github.com/kopf-dev/kopf/devcluster/internal/fault"

// Error is what this package reports to a user: what failed and where, why, and what to
// do next. Its text is one line.
type Error = fault.Error

// The kinds of errors, to be recognised with [errors.Is].
var (
	// ErrNoToolchain: the control plane has to be built, and there is no "go" command.
	ErrNoToolchain = fault.ErrNoToolchain
	// ErrBuild: the compiler (or the download of the modules) failed.
	ErrBuild = fault.ErrBuild
	// ErrNotFound: there is no such cluster, context or binary.
	ErrNotFound = fault.ErrNotFound
	// ErrExists: a cluster of this name is there already.
	ErrExists = fault.ErrExists
	// ErrInUse: another live process owns the cluster.
	ErrInUse = fault.ErrInUse
	// ErrNotDevelopment: the context does not look like a development cluster.
	ErrNotDevelopment = fault.ErrNotDevelopment
	// ErrUnreachable: the API server does not answer.
	ErrUnreachable = fault.ErrUnreachable
	// ErrKubeconfig: the kubeconfig is missing or broken.
	ErrKubeconfig = fault.ErrKubeconfig
	// ErrStart: the control plane was started, and ended before it was ready.
	ErrStart = fault.ErrStart
	// ErrInvalid: an option has an impossible value.
	ErrInvalid = fault.ErrInvalid
)
