package inspect

// Intent is a request to the operator to do something.
type Intent struct {
	Kind    IntentKind `json:"kind"`
	Object  *Ref       `json:"object,omitempty"`  // set for intents about one object
	Handler string     `json:"handler,omitempty"` // id of the only handler to retry; empty for all handlers
	Value   string     `json:"value,omitempty"`   // level of [IntentLogLevel]; [RetryFormer]; id of the review of [IntentReplay]; see [IntentFreeze], [IntentRelease], [IntentUnbrake]
}

// RetryFormer is a value of [IntentRetryFailed]. It also retries objects that failed before the operator started and that the
// operator lists later.
const RetryFormer = "former"

// IntentKind is the kind of an intent.
type IntentKind string

// The intents.
const (
	IntentRetry       IntentKind = "retry"       // call the object's delayed and failed handlers at once
	IntentRetryFailed IntentKind = "retryfailed" // call the failed handlers of all objects again
	IntentPause       IntentKind = "pause"       // stop handling objects
	IntentResume      IntentKind = "resume"      // end the pause of [IntentPause]
	IntentFreeze      IntentKind = "freeze"      // pause operators with a priority below 100 through peering, for the duration in Value
	IntentRelease     IntentKind = "release"     // remove the record of the peer whose identity is the Value
	IntentPauseObject IntentKind = "pauseobject" // pause or, with an empty Value, resume one object by its annotation; the Value is the reason
	IntentStartOver   IntentKind = "startover"   // delete the records on an object, so that it is handled like a new object
	IntentLogLevel    IntentKind = "loglevel"    // set the lowest level of log lines in the stream
	IntentUnbrake     IntentKind = "unbrake"     // delete the children that [AlarmBrake] is about: of the objects of the resource in Value, or of all
	IntentReplay      IntentKind = "replay"      // call the handlers for an earlier review again, as a dry run; see [Review].Replay
	IntentStop        IntentKind = "stop"        // stop the operator gracefully
)

// Reply is the response to an intent.
type Reply struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"` // reason for a refusal, for people
}
