package devcluster

import "time"

// State is the state of a cluster.
type State string

// The states of a cluster.
const (
	// Running: it answers.
	Running State = "running"
	// Starting: its process is running but not ready yet.
	Starting State = "starting"
	// Unreachable: its process is running but does not answer; or its Docker engine does not.
	Unreachable State = "unreachable"
	// Stopped: only its data exist.
	Stopped State = "stopped"
)

// Info describes a cluster that kopf manages, as kopf cluster list shows it.
type Info struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	State    State  `json:"state"`
	// Project is the folder of the project that the cluster was created for. It is empty for a
	// cluster that was created by its name.
	Project string `json:"project,omitempty"`
	// Owner is the ID of the process that the cluster ends with. It is 0 for a detached cluster.
	Owner int `json:"owner,omitempty"`
	// PID is the process ID of the cluster. It is 0 for a stopped cluster.
	PID int `json:"pid,omitempty"`
	// Ephemeral reports whether the cluster deletes its data when it stops.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// FeatureGates are the feature gates of an embedded cluster, such as "ShardedListAndWatch=true".
	FeatureGates string `json:"featureGates,omitempty"`
	// Server, Version, Kubeconfig and Context are from the last start.
	Server     string `json:"server,omitempty"`
	Version    string `json:"version,omitempty"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	Context    string `json:"context,omitempty"`
	// Image is the image of the nodes, with the provider K3d.
	Image string `json:"image,omitempty"`
	// Registry is the address of the cluster's registry on this machine, if it has one. The
	// nodes know it as RegistryHost.
	Registry     string     `json:"registry,omitempty"`
	RegistryHost string     `json:"registryHost,omitempty"`
	Dir          string     `json:"dir"`
	Started      *time.Time `json:"started,omitempty"`
}

// free reports whether the cluster can be started, because it has no process.
func (i Info) free() bool { return i.State == Stopped }

// shared reports whether any process may use the cluster.
func (i Info) shared() bool {
	return i.Owner == 0 && !i.Ephemeral && (i.State == Running || i.State == Starting)
}

// forgotten reports whether the cluster is an ephemeral one whose process has ended.
func (i Info) forgotten() bool { return i.Ephemeral && i.State == Stopped }
