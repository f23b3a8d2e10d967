package handlers

// Family is a kind of registration: see package kopf's functions OnCreate, Daemon and so on.
type Family string

// The families.
const (
	Create    Family = "create"
	Update    Family = "update"
	Delete    Family = "delete"
	Resume    Family = "resume"
	Field     Family = "field"
	Sub       Family = "sub" // added by a running handler: see [Subregistry]
	Event     Family = "event"
	Daemon    Family = "daemon"
	Timer     Family = "timer"
	Index     Family = "index"
	Reconcile Family = "reconcile"
	Validate  Family = "validate"
	Mutate    Family = "mutate"
	Startup   Family = "startup"
	Cleanup   Family = "cleanup"
	Login     Family = "login"
	Probe     Family = "probe"
)

// Group is a group of families whose handlers are selected on the same occasions.
type Group int

// The groups.
const (
	Changing    Group = iota // change handlers, with progress on the object: create, update, delete, resume, field, sub
	Watching                 // event handlers
	Spawning                 // daemons and timers
	Indexing                 // indexing functions
	Reconciling              // reconcile handlers, which keep the children of an object
	Admission                // admission webhooks: validate, mutate
	Activities               // handlers of the operator itself: startup, cleanup, login, probe
	groups
)

// Group returns the group of a family.
func (f Family) Group() Group {
	switch f {
	case Event:
		return Watching
	case Daemon, Timer:
		return Spawning
	case Index:
		return Indexing
	case Reconcile:
		return Reconciling
	case Validate, Mutate:
		return Admission
	case Startup, Cleanup, Login, Probe:
		return Activities
	default:
		return Changing
	}
}

// defaultErrors returns the errors mode of handlers that do not choose one.
func (f Family) defaultErrors() ErrorsMode {
	switch f.Group() {
	case Watching, Indexing:
		return ErrorsIgnored
	case Admission:
		return ErrorsPermanent // the API server waits for the response
	default:
		return ErrorsTemporary
	}
}

// title returns the word for handlers of the family in log lines.
func (f Family) title() string {
	switch f {
	case Daemon:
		return "Daemon"
	case Timer:
		return "Timer"
	case Index:
		return "Indexer"
	case Validate, Mutate:
		return "Webhook"
	case Startup, Cleanup, Login, Probe:
		return "Activity"
	default:
		return "Handler"
	}
}
