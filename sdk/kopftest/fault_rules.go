package kopftest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Faults are the faults between an operator and the API server: see [FaultProxy]. The zero value has no faults.
type Faults struct {
	// Seed decides where rules with a Chance apply. The same seed makes the same decision for the
	// n-th request of a method to a path, and for the n-th event of an object, however the requests
	// interleave. [Seed] returns a seed for a test.
	Seed uint64

	// Rules are checked in their order. The first rule that applies to a request determines its fault. Rules of events
	// ([FaultDuplicate], [FaultOutdated], [FaultReorder]) apply to each event of the matching streams, in addition to the
	// fault of the stream. They do not apply to the list at the start of a stream, because a list has each object once.
	Rules []FaultRule
}

// A FaultRule determines which requests fail, how, and how often.
type FaultRule struct {
	// Match selects requests: [Writes], [Reads], [Watches], [Lists], [Requests], or the test's own function, which must not
	// change the request. Nil matches all requests.
	Match func(*http.Request) bool

	// Fault is the fault of the selected requests.
	Fault Fault

	// Chance is the probability, up to 1, that the rule applies. Defaults to always.
	Chance float64

	// Skip is the number of matching requests or events that pass before the rule applies. Defaults to 0.
	Skip int

	// Times limits how often the rule applies. Defaults to no limit.
	Times int
}

// A Fault is a failure of a request or a stream.
type Fault struct {
	Kind FaultKind

	// AfterEffect injects the fault after the API server carried out the request: only the response is lost, and the client
	// gets the fault instead. Defaults to false: the request does not reach the API server.
	AfterEffect bool

	// Events is the number of events of a watch that pass before the fault. Defaults to 0: the request of the watch fails.
	Events int

	// Code is the HTTP status of [FaultStatus], by default 503, and of [FaultGarbage], by default 200.
	Code int

	// RetryAfter is the header of a [FaultStatus], in whole seconds, rounded up. Defaults to no header.
	RetryAfter time.Duration

	// Field is the field in the cause of a [FaultStatus]. In a 422 for an invalid object, the API server names such a field.
	// Defaults to no cause, as in a 422 for a JSON patch whose test fails.
	Field string

	// Delay is the delay of [FaultDelay]. For [FaultSilence], it is the duration, by default until the client disconnects.
	// For [FaultStale], it is the time between the list and the events.
	Delay time.Duration

	// Age is the age of the objects' state for [FaultStale].
	Age time.Duration

	// Do is called when the fault happens; with AfterEffect, after the API server carried out the request. For example, it
	// can change the object as another client, or kill the operator. It must not fail the test. Optional.
	Do func()
}

// FaultKind is the kind of a [Fault].
type FaultKind string

// The kinds of faults. Most apply to requests, including watches; some apply to single events of watches.
const (
	// FaultDrop closes the connection.
	FaultDrop FaultKind = "drop"

	// FaultSilence sends nothing more, and keeps the connection open.
	FaultSilence FaultKind = "silence"

	// FaultDelay delays the request or, with AfterEffect, the response. In a watch, it delays each event.
	FaultDelay FaultKind = "delay"

	// FaultStatus responds with a status. In a watch with Events, it sends an event of type ERROR, such as 410 for an
	// expired version.
	FaultStatus FaultKind = "status"

	// FaultGarbage responds with a body that is not JSON. In a watch, it cuts the next event in the middle, and continues
	// the stream in the next line.
	FaultGarbage FaultKind = "garbage"

	// FaultGlue cuts the next event of a watch in the middle, and continues the stream in the same line.
	FaultGlue FaultKind = "glue"

	// FaultTruncate cuts the response, or the next event of a watch, in the middle, and closes the connection. The API
	// server carries out the request.
	FaultTruncate FaultKind = "truncate"

	// FaultStale returns a list, or the initial events of a watch, with the objects' state from the time Age ago, like an
	// API server whose watch cache lags behind. Later events follow after the Delay. It does not apply to requests for a
	// newer version.
	FaultStale FaultKind = "stale"

	// FaultDuplicate sends an event twice.
	FaultDuplicate FaultKind = "duplicate"

	// FaultOutdated sends the previous version of an object after an event.
	FaultOutdated FaultKind = "outdated"

	// FaultReorder sends an event after the next one, or after 100ms.
	FaultReorder FaultKind = "reorder"

	// FaultKill ends the operator that sends the request, like SIGKILL: neither this request nor later requests of the
	// operator reach the API server, and its streams end. With AfterEffect, this request reaches the API server. It applies
	// to operators that were connected by [FaultProxy.Connect]. [FaultProxy.Killed] reports it; then call [Operator.Kill] to
	// end the rest of the operator.
	FaultKill FaultKind = "kill"

	// FaultNone only calls Do.
	FaultNone FaultKind = "none"
)

// ofEvents reports whether the kind applies to single events of a watch.
func (k FaultKind) ofEvents() bool {
	return k == FaultDuplicate || k == FaultOutdated || k == FaultReorder
}

// String describes the fault, for example "503", "drop after effect" or "410 after 3 events".
func (f Fault) String() string {
	text := string(f.Kind)
	switch f.Kind {
	case FaultStatus:
		text = fmt.Sprint(f.code())
		if f.Field != "" {
			text += " with cause"
		}
		if f.RetryAfter > 0 {
			text += " Retry-After"
		}
	case FaultGarbage:
		if f.Code != 0 {
			text += fmt.Sprint(" ", f.Code)
		}
	}
	if f.AfterEffect {
		text += " after effect"
	}
	if f.Events > 0 {
		text += fmt.Sprintf(" after %d events", f.Events)
	}
	return text
}

func (f Fault) code() int {
	switch {
	case f.Code != 0:
		return f.Code
	case f.Kind == FaultStatus:
		return http.StatusServiceUnavailable
	default:
		return http.StatusOK
	}
}

// Writes matches requests that change objects.
func Writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// Reads matches all requests except [Writes]: lists, watches, single objects, and the discovery of resources.
func Reads(r *http.Request) bool { return !Writes(r) }

// Watches matches the requests of streams.
func Watches(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// Lists matches requests for lists, and watches that start with a list.
func Lists(r *http.Request) bool {
	t := targetOf(r)
	switch {
	case r.Method != http.MethodGet, t.plural == "", t.name != "":
		return false
	case Watches(r):
		return r.URL.Query().Get("sendInitialEvents") == "true"
	default:
		return true
	}
}

// Requests returns a match for a method and a plural name of a resource, such as "PATCH" and
// "configmaps/status"; without a subresource in the name, the requests of all subresources match.
// An empty method or resource matches all.
func Requests(method, resource string) func(*http.Request) bool {
	plural, subresource, only := strings.Cut(resource, "/")
	return func(r *http.Request) bool {
		if method != "" && method != r.Method {
			return false
		}
		t := targetOf(r)
		return resource == "" || t.plural == plural && (!only || t.subresource == subresource)
	}
}

// target identifies the resource or object of a request. The plural is empty for discovery documents.
type target struct{ plural, name, subresource string }

// targetOf parses the path of a request.
func targetOf(r *http.Request) target {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return target{}
	}
	var t target
	if len(parts) > 2 && parts[0] == "namespaces" && parts[2] != "status" && parts[2] != "finalize" {
		parts = parts[2:]
	}
	for i, to := range []*string{&t.plural, &t.name, &t.subresource} {
		if i < len(parts) {
			*to = parts[i]
		}
	}
	return t
}

// roll returns the same number from 0 to 1 for the same arguments.
func roll(seed uint64, rule int, key string, n int) float64 {
	hash := fnv.New64a()
	fmt.Fprint(hash, rule, " ", key, " ", n)
	return rand.New(rand.NewPCG(seed, hash.Sum64())).Float64() //nolint:gosec // it has to be the same in each run
}
