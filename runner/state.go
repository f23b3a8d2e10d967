package runner

import (
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// State is all that a [Session] knows at one moment. It is immutable: a change makes a
// new one, which shares with the former what did not change.
type State struct {
	Revision uint64 // grows with every change

	Packages []string // the import paths of the packages of handlers
	Module   string   // the path of their module
	Dir      string   // of the module; file names in [Build] are relative to it

	Build   Build
	Process Process
	Cluster Cluster

	// Manifests are the files and folders that [IntentApply] applies: those of the
	// command line, else those found beside the code.
	Manifests []string

	// Snapshot is what the operator has published. While there is none (a crash, a
	// restart) it is the last one of the former; nil before the first.
	Snapshot *inspect.Snapshot

	// Live tells that the Snapshot is that of the running process.
	Live bool

	// Log are the newest lines of this and of former operators, with what they
	// printed by themselves (of the level [LevelPrint]), oldest first. It reaches
	// further back than the log of the Snapshot, and includes it.
	Log []inspect.LogLine

	// LogDropped counts the lines that are missing from the Log because they came
	// too fast, or are too old.
	LogDropped int
}

// LevelPrint is the level of log lines that the program has printed by itself on its
// standard output or standard error.
const LevelPrint = "print"

// Build is the state of the operator's build.
type Build struct {
	Phase   BuildPhase
	Started time.Time     // of the current or last build
	Took    time.Duration // of the last finished build
	Files   []string      // the changes that led to the build; none for the first
	Errors  []BuildError  // of the last build, if it failed

	// History are the reloads, newest first; the oldest are forgotten.
	History []Reload
}

// BuildPhase is where the build stands.
type BuildPhase string

// The phases of a build.
const (
	BuildIdle     BuildPhase = "idle" // nothing was built yet
	BuildBuilding BuildPhase = "building"
	BuildBuilt    BuildPhase = "built"
	BuildFailed   BuildPhase = "failed"
)

// Reload is a build that came from a change, or from a wish.
type Reload struct {
	At    time.Time
	Files []string      // that changed; none for a rebuild or a restart on demand
	Built bool          // false if the build failed
	Build time.Duration // the build
	Ready time.Duration // from the change to the new code handling; 0 while it does not
}

// Process is the state of the operator's process.
type Process struct {
	Phase    ProcessPhase
	PID      int       // 0 if none
	Started  time.Time // of the current or last process
	Restarts int       // after crashes, in a row
	Exit     string    // how the last process ended: "exit status 1"; empty if it did not
	Error    string    // the last words on its standard error, if it failed by itself

	Panic     *Panic    // if it ended so
	RestartAt time.Time // of the next try after a crash; zero if there will be none
}

// ProcessPhase is where the operator's process stands.
type ProcessPhase string

// The phases of a process.
const (
	ProcessNone     ProcessPhase = "none"
	ProcessStarting ProcessPhase = "starting" // runs, but has not published anything yet
	ProcessRunning  ProcessPhase = "running"
	ProcessStopping ProcessPhase = "stopping"
	ProcessCrashed  ProcessPhase = "crashed"
)

// Panic is what a Go program says when it dies of one.
type Panic struct {
	Message  string
	File     string // of the topmost frame in the user's module; may be empty
	Line     int
	Function string
}

// Cluster is the state of the cluster that the operator works with.
type Cluster struct {
	Phase      ClusterPhase
	Provider   string // "embedded", "context"
	Name       string // of the dev cluster, or of the context
	Reason     string // why this one was chosen
	Version    string // of Kubernetes
	Server     string // its URL
	Kubeconfig string // the path of the file
	Context    string // in the file; empty for the current one

	// Done and Total count the steps of [ClusterBuilding]: packages compiled.
	Done, Total int
	Message     string // what is being done
	Error       string // if it failed, or is gone

	// Ended is closed when the cluster has ended by itself, and its data are there to
	// start it with again. It is nil where nobody could know.
	Ended <-chan struct{}
}

// ClusterPhase is where the cluster stands.
type ClusterPhase string

// The phases of a cluster.
const (
	ClusterNone     ClusterPhase = "none"
	ClusterBuilding ClusterPhase = "building" // the control plane is compiled, once
	ClusterStarting ClusterPhase = "starting"
	ClusterReady    ClusterPhase = "ready"
	ClusterGone     ClusterPhase = "gone" // it was ready, and does not answer any more
	ClusterFailed   ClusterPhase = "failed"
)
