package devcluster

// The providers, as the flag --cluster names them.
const (
	// Auto lets Open choose.
	Auto = "auto"
	// Embedded is the control plane built from devcluster/controlplane.
	Embedded = "embedded"
	// Context is an existing context of a kubeconfig.
	Context = "context"
)

// DefaultName is the name of an embedded cluster of no project.
const DefaultName = "dev"

// Options select a cluster. The zero value selects an embedded one.
type Options struct {
	// Provider is Auto, Embedded or Context. Defaults to Auto, which means Context if Context
	// or Kubeconfig is set, and Embedded otherwise.
	Provider string
	// Name is the name of the embedded cluster. Defaults to the name of the project's folder or,
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
	// neither a running cluster nor existing data.
	Ephemeral bool
	// FeatureGates enable and disable features of the API server of an ephemeral cluster, in the notation of
	// its flag, such as "ShardedListAndWatch=true".
	FeatureGates string
	// Yes skips the check that a context looks like a development cluster.
	Yes bool
	// Progress is called with each step. Calls are not concurrent; it must not block. May be
	// nil.
	Progress func(Progress)
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
	// PhaseStart: the control plane is started.
	PhaseStart Phase = "start"
	// PhaseConnect: an existing cluster is asked for its version.
	PhaseConnect Phase = "connect"
	// PhaseReady: the cluster is usable.
	PhaseReady Phase = "ready"
)

// Progress is one step of [Open], [Create] or [Start].
type Progress struct {
	Phase Phase
	// Done and Total count the units of the phase. Total is 0 if it is unknown.
	Done, Total int
	// Message is a sentence for a person, without a full stop.
	Message string
}

// report calls Progress unless it is nil.
func (o Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}
