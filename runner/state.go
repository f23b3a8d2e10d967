package runner

import (
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// State is the state of a [Session] at one point in time. It is immutable: every change creates a new State, which shares the
// unchanged parts with the previous State.
type State struct {
	Revision uint64 // incremented with every change

	Packages []string // the import paths of the packages with handlers
	Dir      string   // the folder of their module; file names in [Build] are relative to it

	// Attached is the address of the inspector if another process runs the operator: see [Attachment]. Then there is no
	// build, and only the address of the cluster is known.
	Attached string

	// ReadOnly reports whether intents to the operator are refused.
	ReadOnly bool

	Build   Build
	Process Process
	Cluster Cluster

	// Webhooks is the state of the tunnel for admission reviews.
	Webhooks Webhooks

	// Manifests are the files and folders that [IntentApply] applies: the arguments of the command line or, without them, the
	// folders of packages that contain manifests.
	Manifests []string

	// SavedManifests are the files of Manifests that were saved after they were last applied.
	SavedManifests []string

	// Application is the result of the last application of manifests.
	Application settlement.Application

	// Looked is the view that [IntentLook] requested; nil if none was requested.
	Looked *Looked

	// Snapshot is the last published snapshot of an operator, which may have ended; see Live. It is nil before the first
	// snapshot.
	Snapshot *inspect.Snapshot

	// Live reports whether Snapshot is from the running process.
	Live bool

	// Log are the newest log lines of all processes of the session, oldest first, including
	// the lines that they printed (of the level [LevelPrint]). It includes the log of the
	// Snapshot and reaches further back.
	Log []inspect.LogLine

	// LogDropped is the number of lines missing from Log, because they came too fast or are
	// too old.
	LogDropped int
}

// LevelPrint is the level of lines that the program has printed to its standard output or
// standard error.
const LevelPrint = "print"

// Build is the state of the operator's build.
type Build struct {
	Phase   BuildPhase
	Started time.Time     // start of the current or last build
	Took    time.Duration // duration of the last finished build
	Files   []string      // changed files that triggered the build; empty for the first build
	Errors  []BuildError  // errors of the last build, if it failed

	// SavedAt is the time of the last change of a source file; zero before the first change. With [Options].NoReload or Hold, Saved
	// are the files that were changed after the start of the last successful build that does not wait.
	SavedAt time.Time
	Saved   []string

	// Held is the path of the executable that waits for [IntentRun], with [Options].Hold; empty if none waits. Each build has
	// another path. The file is removed when the next build begins.
	Held string

	// Warnings are warnings about the sources of the last build: see [Session.WarnAboutBuild].
	Warnings []string

	// History are the last 50 reloads, newest first.
	History []Reload
}

// BuildPhase is the phase of the build.
type BuildPhase string

// The phases of a build.
const (
	BuildIdle     BuildPhase = "idle" // no build was started yet
	BuildBuilding BuildPhase = "building"
	BuildBuilt    BuildPhase = "built"
	BuildFailed   BuildPhase = "failed"
)

// Reload is a rebuild after a change of files, or a rebuild or restart on demand.
type Reload struct {
	At    time.Time     // time of the change or, for a build that has waited, of [IntentRun]
	Files []string      // changed files; empty for a rebuild or restart on demand
	Built bool          // false if the build failed
	Build time.Duration // duration of the build
	Ready time.Duration // time from At until the new code handles objects; 0 until then
}

// Process is the state of the operator's process.
type Process struct {
	Phase    ProcessPhase
	PID      int       // 0 if none
	Started  time.Time // start of the current or last process
	Restarts int       // number of consecutive crashes
	Exit     string    // exit status of the last process, such as "exit status 1"; empty if none has ended
	Error    string    // last lines on standard error of a crashed process

	Panic     *Panic    // panic of the last process; nil if it did not panic
	RestartAt time.Time // time of the next start after a crash; zero if no start is scheduled
}

// ProcessPhase is the phase of the operator's process.
type ProcessPhase string

// The phases of a process.
const (
	ProcessNone     ProcessPhase = "none"
	ProcessStarting ProcessPhase = "starting" // running, but has not published a snapshot yet
	ProcessRunning  ProcessPhase = "running"
	ProcessStopping ProcessPhase = "stopping"
	ProcessCrashed  ProcessPhase = "crashed"
)

// Panic is the panic of a crashed Go program.
type Panic struct {
	Message  string
	File     string // file of the topmost frame in the user's module; empty if there is none
	Line     int
	Function string
}

// Cluster is the state of the operator's cluster.
type Cluster struct {
	Phase      ClusterPhase
	Provider   string // "embedded", "k3d" or "context"
	Name       string // the name of the dev cluster or of the context
	Reason     string // reason for choosing this cluster
	Version    string // the version of Kubernetes
	Server     string // the URL of the API server
	Kubeconfig string // the path of the kubeconfig
	Context    string // the context in the kubeconfig; empty for the current one

	// Done and Total count the compiled packages in [ClusterBuilding], and the pulled megabytes in [ClusterStarting].
	Done, Total int
	Message     string        // the current step
	Elapsed     time.Duration // elapsed time of the phase, if known
	Remaining   time.Duration // estimated time until the end of [ClusterBuilding]; 0 if unknown
	Error       string        // reason of [ClusterFailed] or [ClusterGone]

	// Ended is closed when the cluster's process has exited; it can be opened again with
	// the same data. It is nil if the end of the cluster cannot be observed.
	Ended <-chan struct{}
}

// ClusterPhase is the phase of the cluster.
type ClusterPhase string

// The phases of a cluster.
const (
	ClusterNone     ClusterPhase = "none"
	ClusterBuilding ClusterPhase = "building" // the control plane is being compiled
	ClusterStarting ClusterPhase = "starting"
	ClusterReady    ClusterPhase = "ready"
	ClusterGone     ClusterPhase = "gone" // the cluster was ready, but does not respond
	ClusterFailed   ClusterPhase = "failed"
)
