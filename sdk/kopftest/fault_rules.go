package kopftest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

// Faults are what goes wrong between an operator and the API server: see [FaultProxy]. The zero
// value is no faults.
type Faults struct {
	// Seed decides where rules with a Chance apply. The same seed makes the same decision for the
	// n-th request of a method to a path, and for the n-th event of an object, however the requests
	// interleave. [Seed] makes one for a test.
	Seed uint64

	// Rules are tried in their order; the first that applies to a request is its fault. Rules of
	// events ([FaultDuplicate], [FaultOutdated], [FaultReorder]) apply to each event of the streams
	// that they match, in addition to the fault of the stream, but not to the list that a stream begins
	// with: no API server has an object there twice, or in several versions.
	Rules []FaultRule
}

// A FaultRule says which requests fail, how, and how often.
type FaultRule struct {
	// Match selects requests: [Writes], [Reads], [Watches], [Lists], [Requests] or a function of the test's own, which
	// must not change the request. Nil matches all.
	Match func(*http.Request) bool

	// Fault is what goes wrong.
	Fault Fault

	// Chance is the probability, up to 1, that the rule applies. Defaults to always.
	Chance float64

	// Skip is how many matching requests, or events, pass first. Defaults to none.
	Skip int

	// Times limits how often the rule applies. Defaults to no limit.
	Times int
}

// A Fault is one thing that goes wrong with a request or with a stream.
type Fault struct {
	Kind FaultKind

	// AfterEffect injects the fault after the API server has carried out the request: only the response is lost, and
	// the client gets the fault instead. Defaults to false: the request does not arrive.
	AfterEffect bool

	// Events is how many events of a watch pass before the fault. Defaults to none: the watch itself
	// fails.
	Events int

	// Code is the status of [FaultStatus] and [FaultGarbage]. Defaults to 503 and to 200.
	Code int

	// RetryAfter is the header of a [FaultStatus], in whole seconds, rounded up. Defaults to no header.
	RetryAfter time.Duration

	// Field names a field in the cause of a [FaultStatus], as the API server does in a 422 for an
	// invalid object. Defaults to no cause, as in a 422 for a JSON patch whose test fails.
	Field string

	// Delay is the time of [FaultDelay]; how long a [FaultSilence] lasts, by default until the client
	// gives up; and the time between the list and the events of a [FaultStale].
	Delay time.Duration

	// Age is how old the objects of a [FaultStale] are.
	Age time.Duration

	// Do is called when the fault happens: with AfterEffect, after the effect. Another client can
	// interfere here, or the operator be killed. It must not fail the test. Defaults to nothing.
	Do func()
}

// FaultKind is a way to fail.
type FaultKind string

// The faults of requests, which include watches, and of the events of watches.
const (
	// FaultDrop closes the connection.
	FaultDrop FaultKind = "drop"

	// FaultSilence answers nothing more, and leaves the connection open.
	FaultSilence FaultKind = "silence"

	// FaultDelay delays the request or, with AfterEffect, its answer. In a watch it delays each event.
	FaultDelay FaultKind = "delay"

	// FaultStatus answers with a status. In a watch, after Events events, it is an event of type ERROR,
	// such as 410 for an expired version.
	FaultStatus FaultKind = "status"

	// FaultGarbage answers with something that is not JSON. In a watch, the next event is cut in the middle, and the
	// stream continues in the next line.
	FaultGarbage FaultKind = "garbage"

	// FaultGlue cuts the next event of a watch in the middle, and the stream continues in the same line.
	FaultGlue FaultKind = "glue"

	// FaultTruncate cuts the answer, or the next event of a watch, in the middle, and closes the
	// connection. The API server has carried out the request.
	FaultTruncate FaultKind = "truncate"

	// FaultStale answers a list, or the initial events of a watch, with the objects' state at a time Age ago, like an
	// API server whose watch cache lags behind. Later events follow after the Delay. It does not apply to clients
	// that ask for a newer version.
	FaultStale FaultKind = "stale"

	// FaultDuplicate sends an event twice.
	FaultDuplicate FaultKind = "duplicate"

	// FaultOutdated sends the previous version of an object after an event.
	FaultOutdated FaultKind = "outdated"

	// FaultReorder sends an event after the next one, or after 100ms.
	FaultReorder FaultKind = "reorder"

	// FaultKill ends the operator that sends the request, as a SIGKILL would: neither this nor any later request of
	// it arrives, and its streams end. With AfterEffect, this one does arrive. It is for operators that were
	// connected by [FaultProxy.Connect]; [FaultProxy.Killed] reports it, and [Operator.Kill] ends the rest of the
	// operator.
	FaultKill FaultKind = "kill"

	// FaultNone changes nothing, and calls Do.
	FaultNone FaultKind = "none"
)

// ofEvents reports whether the kind applies to single events.
func (k FaultKind) ofEvents() bool {
	return k == FaultDuplicate || k == FaultOutdated || k == FaultReorder
}

// String returns the fault in a few words, which are the same for all faults of its kind: "503",
// "drop after effect", "410 after 3 events".
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

// Writes matches the requests that change something.
func Writes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }

// Reads matches all others: lists, watches, single objects, and the discovery of resources.
func Reads(r *http.Request) bool { return !Writes(r) }

// Watches matches the requests of streams.
func Watches(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// Lists matches the requests of lists, and of streams that begin with one.
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
