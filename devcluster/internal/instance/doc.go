// Package instance knows the processes and the directories of embedded control planes.
//
// Its counterpart is the program in devcluster/controlplane, which is built apart, so that the
// two share no code but this contract:
//
//   - The program locks the file "lock" of its data directory with fcntl for as long as it lives,
//     and writes a [Holder] into it. Whether the process lives, and which it is, is therefore
//     answered by the kernel, also after kill -9.
//   - When the cluster is usable it writes a [Ready] to "cluster.json", and the same as a line to its
//     standard output. When it cannot start, the line is a [Failure] instead.
//   - With --guard it ends when its standard input closes.
package instance

import "time"

// The files of a data directory.
const (
	lockFile       = "lock"
	readyFile      = "cluster.json"
	kubeconfigFile = "kubeconfig"
	outputFile     = "output.log"
	logFile        = "controlplane.log"
)

// Holder is what the lock file tells of the process that holds it.
type Holder struct {
	PID int `json:"pid"`
	// Owner is the parent that the process ends with, or 0.
	Owner     int       `json:"owner,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
	Started   time.Time `json:"started"`
}

// Ready is what a usable control plane tells of itself.
type Ready struct {
	Server     string  `json:"server"`
	Kubeconfig string  `json:"kubeconfig"`
	Context    string  `json:"context"`
	Version    string  `json:"version"`
	PID        int     `json:"pid"`
	Seconds    float64 `json:"seconds"`
}

// Failure is why a control plane does not start.
type Failure struct {
	// Reason is "in-use", "port-taken" or "failed".
	Reason  string `json:"reason"`
	Message string `json:"error"`
}
