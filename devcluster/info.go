package devcluster

import "time"

// State is what a cluster does at the moment.
type State string

// The states of a cluster.
const (
	// Running: it answers.
	Running State = "running"
	// Starting: its process lives, and has not reported itself ready yet.
	Starting State = "starting"
	// Unreachable: its process lives, and does not answer.
	Unreachable State = "unreachable"
	// Stopped: there are only its data.
	Stopped State = "stopped"
)

// Info describes a cluster that kopf manages, as kopf cluster list shows it.
type Info struct {
	Name     string `json:"name"`
	Provider string `json:"provider"`
	State    State  `json:"state"`
	// Owner is the process that the cluster ends with. It is 0 for a detached cluster.
	Owner int `json:"owner,omitempty"`
	// PID is the process of the cluster itself. It is 0 when it is stopped.
	PID int `json:"pid,omitempty"`
	// Ephemeral clusters are forgotten when they stop.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Server and Version are those of the last start.
	Server     string     `json:"server,omitempty"`
	Version    string     `json:"version,omitempty"`
	Kubeconfig string     `json:"kubeconfig,omitempty"`
	Context    string     `json:"context,omitempty"`
	Dir        string     `json:"dir"`
	Started    *time.Time `json:"started,omitempty"`
}

// free tells that a start of this cluster would not meet a living process.
func (i Info) free() bool { return i.State == Stopped }

// shared tells that any process may use it as it is.
func (i Info) shared() bool {
	return i.Owner == 0 && !i.Ephemeral && (i.State == Running || i.State == Starting)
}
