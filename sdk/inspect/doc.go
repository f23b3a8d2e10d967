// Package inspect is the inspector protocol, by which an operator publishes its state, and its [Client].
//
// An operator that publishes its state serves HTTP on a Unix socket or on a loopback
// port. There are eight requests, all with JSON bodies:
//
//	GET  /v1/snapshot  one [Snapshot]: the current state
//	GET  /v1/stream    one [Message] per line: first the snapshot, then the changes
//	GET  /v1/index     one [IndexPage]: ?limit= entries of the index ?id=, from ?offset=, optionally only entries with ?search=
//	GET  /v1/object    one [ObjectContent]: the object of ?resource=, ?namespace=, ?name= and ?uid= in the cluster
//	GET  /v1/events    one [ObjectEvents]: the Kubernetes events about this object
//	GET  /v1/children  one [ChildList]: the children of the object of ?resource= and ?uid=, or of all objects
//	GET  /v1/requests  one [Requests]: the operator's requests to the API server
//	POST /v1/intents   one [Intent], which the operator carries out; the response is a [Reply]
//
// At a TCP address, each request needs the operator's token in the header
//
//	Authorization: Bearer TOKEN
//
// The token is the value of [TokenVariable] or, if it is not set, the content of the [TokenFile]. Requests without the token
// get 401. Requests of web pages (with an Origin header) and for a host that is not a loopback address get 403. At a Unix
// socket, there is no token: the operator only serves processes of its own user and of root.
//
// Each response has the [VersionHeader]. Times are in RFC 3339; durations are seconds as numbers, such as
// 0.024 (see [Duration]).
//
// Reasons are data rather than prose, from which readers build sentences. Newer operators may send kinds, reasons and states
// for which this package has no constants. A slow reader does not slow down the operator. It misses intermediate states of an
// object, but never the last state, and gets the number of missed log lines.
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
	ChildrenPath = "/v1/children"
	RequestsPath = "/v1/requests"
	IntentsPath  = "/v1/intents"
)
