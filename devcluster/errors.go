package devcluster

import "github.com/kopf-dev/kopf/devcluster/internal/fault"

// Error is an error for a user: what failed and where, why, and what to do next. Its text is
// one line.
type Error = fault.Error

// The kinds of errors, for [errors.Is].
var (
	// ErrNoToolchain: building the control plane needs the command "go", which is missing.
	ErrNoToolchain = fault.ErrNoToolchain
	// ErrBuild: compiling the control plane, or downloading its modules, failed.
	ErrBuild = fault.ErrBuild
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
	// ErrStart: the control plane exited before it was usable.
	ErrStart = fault.ErrStart
	// ErrInvalid: an option has an invalid value.
	ErrInvalid = fault.ErrInvalid
	// ErrNoEngine: no Docker engine answers, or it cannot be used for clusters.
	ErrNoEngine = fault.ErrNoEngine
	// ErrEngine: the Docker engine, or k3d, failed to do something.
	ErrEngine = fault.ErrEngine
	// ErrImage: an image is neither in the Docker engine nor can it be pulled.
	ErrImage = fault.ErrImage
	// ErrPortTaken: another program listens on the port of the cluster.
	ErrPortTaken = fault.ErrPortTaken
	// ErrDiskFull: the Docker engine, the cache of programs, or the disk of an embedded cluster has no space left.
	ErrDiskFull = fault.ErrDiskFull
)
