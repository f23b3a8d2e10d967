package devcluster

import "github.com/kopf-dev/kopf/devcluster/internal/fault"

// The kinds of errors, for [errors.Is].
var (
	// ErrNotFound: there is no such cluster, context or binary.
	ErrNotFound = fault.ErrNotFound
	// ErrExists: a cluster of this name already exists.
	ErrExists = fault.ErrExists
	// ErrInUse: another live process owns the cluster.
	ErrInUse = fault.ErrInUse
	// ErrNotDevelopment: the context does not look like a development cluster.
	ErrNotDevelopment = fault.ErrNotDevelopment
	// ErrUnreachable: the API server does not answer.
	ErrUnreachable = fault.ErrUnreachable
	// ErrKubeconfig: the kubeconfig is missing or broken.
	ErrKubeconfig = fault.ErrKubeconfig
	// ErrInvalid: an option has an invalid value.
	ErrInvalid = fault.ErrInvalid
	// ErrDiskFull: the Docker engine, the cache of programs, or the disk of an embedded cluster has no space left.
	ErrDiskFull = fault.ErrDiskFull
)
