package handlers

// Family is a way to register handlers.
type Family string

// The families.
const (
	Create   Family = "create"
	Update   Family = "update"
	Delete   Family = "delete"
	Resume   Family = "resume"
	Field    Family = "field"
	Sub      Family = "sub" // of a running handler: see [Subregistry]
	Event    Family = "event"
	Daemon   Family = "daemon"
	Timer    Family = "timer"
	Index    Family = "index"
	Validate Family = "validate"
	Mutate   Family = "mutate"
	Startup  Family = "startup"
	Cleanup  Family = "cleanup"
	Login    Family = "login"
	Probe    Family = "probe"
)

// Group are the families whose handlers are selected on the same occasions.
type Group int

// The groups.
const (
	Changing   Group = iota // state is kept on the object: create, update, delete, resume, field, sub
	Watching                // each event of the watch
	Spawning                // something runs as long as the object is there: daemons, timers
	Indexing                // the operator's memory of objects
	Admission               // questions of the API server: validate, mutate
	Activities              // not about objects: startup, cleanup, login, probe
	groups
)

// Group is the group of a family.
func (f Family) Group() Group {
	switch f {
	case Event:
		return Watching
	case Daemon, Timer:
		return Spawning
	case Index:
		return Indexing
	case Validate, Mutate:
		return Admission
	case Startup, Cleanup, Login, Probe:
		return Activities
	default:
		return Changing
	}
}

// DefaultErrors is what a family makes of arbitrary errors if its handler does not say.
func (f Family) DefaultErrors() ErrorsMode {
	switch f.Group() {
	case Watching, Indexing:
		return ErrorsIgnored
	case Admission:
		return ErrorsPermanent // somebody waits for the answer
	default:
		return ErrorsTemporary
	}
}

// title is how handlers of a family are called in the log.
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
