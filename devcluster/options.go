package devcluster

import "time"

// The providers, as the flag --cluster names them.
const (
	// Auto means that Open chooses.
	Auto = "auto"
	// Embedded is the control plane built from devcluster/controlplane.
	Embedded = "embedded"
	// K3d is a cluster in containers of a Docker engine. It needs a [Backend].
	K3d = "k3d"
	// Context is an existing context of a kubeconfig.
	Context = "context"
)

// DefaultName is the name of a cluster of no project.
const DefaultName = "dev"

// Options select a cluster. The zero value means that Open chooses.
type Options struct {
	// Provider is Auto, Embedded, K3d or Context. Defaults to Auto, which means Context if
	// Context or Kubeconfig is set. Otherwise it prefers the cluster that exists already; a new
	// one is of K3d if a Docker engine answers, and Embedded if none does.
	Provider string
	// Name is the name of the cluster. Defaults to the name of the project's folder or,
	// without a project, to DefaultName; or to the next free name if that cluster belongs to
	// another process.
	Name string
	// Project is the folder of the project that uses the cluster; see [ProjectOf]. Without a
	// Name, a project never gets a cluster of another one. A new cluster is one of the project.
	Project string
	// Context is a context of the kubeconfig. Defaults to its current context.
	Context string
	// Kubeconfig is the file with the contexts. Defaults to $KUBECONFIG or ~/.kube/config, as
	// in kubectl.
	Kubeconfig string
	// Ephemeral makes Open start a new cluster whose data are deleted when it stops. It uses
	// neither a running cluster nor existing data. The cluster is an embedded one.
	Ephemeral bool
	// FeatureGates enable and disable features of the API server of an embedded cluster, in the notation of its flag,
	// such as "ShardedListAndWatch=true". A cluster keeps its feature gates until a start with other gates. A
	// running cluster with other gates is refused. With feature gates, Auto means Embedded.
	FeatureGates string
	// Copy starts a cluster for the objects of another one, which [Cluster.Load] stores. The only controller is the controller of
	// namespaces. Copy needs Ephemeral.
	Copy bool
	// LowPriority lowers the CPU priority of the cluster, so that other programs come first, such as the user's
	// terminal. It applies only to an embedded cluster that this call starts.
	LowPriority bool
	// K3d configures a new cluster of the provider K3d.
	K3d K3dOptions
	// Yes skips the check that a context looks like a development cluster.
	Yes bool
	// Progress is called with each step. Calls are not concurrent; it must not block. May be
	// nil.
	Progress func(Progress)
}

// K3dOptions configure a new cluster of the provider K3d.
type K3dOptions struct {
	// Version is the version of K3s, such as v1.32.5-k3s1 or v1.32.5+k3s1. Defaults to the one
	// that the k3d library was released with.
	Version string
	// Registry creates a container registry next to the cluster, from which its nodes pull.
	Registry bool
}

// Phase is a step on the way to a cluster.
type Phase string

// The phases, in the order in which they can occur.
const (
	// PhaseWait: another process fetches or builds the control plane.
	PhaseWait Phase = "wait"
	// PhaseFetch: the built control plane is fetched. Done and Total are megabytes.
	PhaseFetch Phase = "fetch"
	// PhaseDownload: the modules of the control plane are downloaded. Done counts them.
	PhaseDownload Phase = "download"
	// PhaseCompile: the control plane is compiled. Done and Total are packages.
	PhaseCompile Phase = "compile"
	// PhaseLink: the control plane is linked.
	PhaseLink Phase = "link"
	// PhasePull: images are pulled. Done and Total are megabytes.
	PhasePull Phase = "pull"
	// PhaseCreate: the containers of the cluster are created.
	PhaseCreate Phase = "create"
	// PhaseStart: the control plane is started.
	PhaseStart Phase = "start"
	// PhaseConnect: the version of an existing cluster is requested.
	PhaseConnect Phase = "connect"
	// PhaseReady: the cluster is usable.
	PhaseReady Phase = "ready"
)

// Progress is one step of [Open], [Create] or [Start].
type Progress struct {
	Phase Phase
	// Done and Total count the units of the phase. Total is 0 if it is unknown.
	Done, Total int
	// Elapsed is how long the step has taken so far. Steps without a count are reported again
	// each second. It is 0 for most steps of embedded clusters.
	Elapsed time.Duration
	// Remaining is the estimated time until the end of PhaseCompile. It is 0 in other phases.
	Remaining time.Duration
	// Message is a sentence for a person, without a full stop.
	Message string
}

// report calls Progress unless it is nil.
func (o Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}
