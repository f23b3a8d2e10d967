// Package inspect is the inspector protocol, by which an operator publishes its state, and its [Client].
//
// An operator that publishes its state serves HTTP on a Unix socket or on a loopback
// port. There are seven requests, all with JSON bodies:
//
//	GET  /v1/snapshot  one [Snapshot]: the current state
//	GET  /v1/stream    one [Message] per line: first the snapshot, then the changes
//	GET  /v1/index     one [IndexPage]: of the index ?id=, from ?offset=, ?limit= entries, if set only those with ?search=
//	GET  /v1/object    one [ObjectContent]: the object of ?resource=, ?namespace=, ?name= and ?uid=, as the API server has it
//	GET  /v1/events    one [ObjectEvents]: the Kubernetes events about that object
//	GET  /v1/requests  one [Requests]: what the operator asks of the API server
//	POST /v1/intents   one [Intent], which asks the operator to do something; the response is a [Reply]
//
// At a TCP address, each request needs the operator's token in the header
//
//	Authorization: Bearer TOKEN
//
// The token is the value of [TokenVariable], or else the content of the [TokenFile]. Requests without it get 401.
// Requests of web pages (with an Origin header) and for a host that is not a loopback address get 403. At a Unix
// socket, there is no token: the operator serves processes of its own user and of root only.
//
// Each response has the [VersionHeader]. Times are in RFC 3339; durations are seconds as numbers, such as
// 0.024 (see [Duration]).
//
// Reasons are data rather than prose: readers make sentences of them. Newer operators may send kinds,
// reasons and states that this package has no constants for. A slow reader does not slow down the
// operator: it misses intermediate states of an object, but never the last one, and gets the number of
// log lines that it missed.
package inspect

// Version is the version of the protocol. It changes when a reader of the previous version would misunderstand the
// messages; new fields do not change it.
const Version = 1

// VersionHeader is the header of every response that has the [Version] of the operator, so that a reader of
// another version gets a [VersionError] rather than "not found".
const VersionHeader = "Kopf-Inspector"

// The paths of the requests.
const (
	SnapshotPath = "/v1/snapshot"
	StreamPath   = "/v1/stream"
	IndexPath    = "/v1/index"
	ObjectPath   = "/v1/object"
	EventsPath   = "/v1/events"
	RequestsPath = "/v1/requests"
	IntentsPath  = "/v1/intents"
)
