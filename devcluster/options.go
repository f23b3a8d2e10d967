package devcluster

// The names of the providers, as --cluster takes them.
const (
	// Auto leaves the choice to Open.
	Auto = "auto"
	// Embedded is the control plane built from devcluster/controlplane.
	Embedded = "embedded"
	// Context is an existing context of a kubeconfig.
	Context = "context"
)

// DefaultName is the name of the embedded cluster when none is asked for.
const DefaultName = "dev"

// Options say which cluster is wanted. The zero value is a good choice.
type Options struct {
	// Provider is Auto, Embedded or Context. Empty means Auto, or Context where Context
	// or Kubeconfig is given.
	Provider string
	// Name is the name of the embedded cluster. Empty means DefaultName, or the next free
	// name where that one belongs to another process.
	Name string
	// Context is a context of the kubeconfig. Empty means its current context.
	Context string
	// Kubeconfig is the file to read contexts from. Empty means $KUBECONFIG, else
	// ~/.kube/config, as in kubectl.
	Kubeconfig string
	// Ephemeral makes Open start a cluster that is forgotten when it is closed. It never
	// takes over a running one, nor the data of a persistent one.
	Ephemeral bool
	// Yes lifts the check that a context looks like a development cluster.
	Yes bool
	// Progress is told what happens. It is called from one goroutine at a time, and
	// must not block. Nil is fine.
	Progress func(Progress)
}

// Phase is a step on the way to a cluster.
type Phase string

// The phases, in the order in which they can occur.
const (
	// PhaseWait: another process builds the control plane.
	PhaseWait Phase = "wait"
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
	// Done and Total count the units of the phase. Total is 0 where it is not known.
	Done, Total int
	// Message is a sentence for people, without a full stop.
	Message string
}

// report makes a nil Progress callable.
func (o Options) report(p Progress) {
	if o.Progress != nil {
		o.Progress(p)
	}
}
