// Package instance manages the processes and data directories of embedded control planes.
//
// The program in devcluster/controlplane is a separate module. The two share no code, only
// this contract:
//
//   - The program locks the file "lock" of its data directory with fcntl while it runs, and
//     writes a [Holder] into it. The kernel knows which process holds the lock, and releases
//     it even after kill -9.
//   - When the cluster is usable, the program writes a [Ready] to "cluster.json" and as a line
//     to its standard output. If it cannot start, the line is a [Failure] instead.
//   - With --ephemeral, it deletes its data directory when it exits.
//   - With --guard it exits when its standard input closes.
package instance

import "time"

// The files of a data directory.
const (
	lockFile   = "lock"
	readyFile  = "cluster.json"
	outputFile = "output.log"
	logFile    = "controlplane.log"
)

// The files of a data directory that only this package knows.
const (
	// ephemeralFile marks the directory of an ephemeral cluster, from its creation on. The
	// process that starts the program has locked it with flock meanwhile.
	ephemeralFile = "ephemeral"
	// projectFile has the folder of the project that the cluster was created for.
	projectFile = "project"
	// gatesFile has the feature gates of the cluster, unless it has none.
	gatesFile = "feature-gates"
)

// Holder is the content of the lock file: the process that holds the lock.
type Holder struct {
	PID int `json:"pid"`
	// Owner is the ID of the parent process that it ends with, or 0.
	Owner     int       `json:"owner,omitempty"`
	Ephemeral bool      `json:"ephemeral,omitempty"`
	Started   time.Time `json:"started"`
}

// Ready describes a usable control plane.
type Ready struct {
	Server     string  `json:"server"`
	Kubeconfig string  `json:"kubeconfig"`
	Context    string  `json:"context"`
	Version    string  `json:"version"`
	PID        int     `json:"pid"`
	Seconds    float64 `json:"seconds"`
}

// Failure is the reason why a control plane cannot start.
type Failure struct {
	// Reason is "in-use", "port-taken" or "failed".
	Reason  string `json:"reason"`
	Message string `json:"error"`
}
