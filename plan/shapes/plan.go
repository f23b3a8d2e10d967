// Package shapes groups the objects of a plan by the behaviour of the operator, and describes each kind of behaviour once.
package shapes

import "time"

// Version is the version of the format of a [Plan] in JSON. It changes when fields are renamed or removed.
const Version = 1

// Plan describes the requests that an operator would send.
type Plan struct {
	Version  int      `json:"version"`
	Packages []string `json:"packages"`
	As       string   `json:"as"`  // assumed state of the objects: "now" (as in the cluster), "create" (new) or "delete" (deleted)
	Box      string   `json:"box"` // protection of the machine from the operator: "namespaces" or "none"
	Copy     Copy     `json:"copy"`

	// Rehandle means that the objects of the copy were marked as by kopf rehandle. Rehandled are the handlers with versions.
	Rehandle  bool        `json:"rehandle,omitempty"`
	Rehandled []Rehandled `json:"rehandled,omitempty"`

	// Ended is the reason why the run ended early, so that the plan is incomplete; empty if the operator had finished all
	// work.
	Ended string `json:"ended,omitempty"`

	Shapes     []Shape   `json:"shapes"` // sorted by verdict, failures first
	Requests   []Request `json:"requests"`
	Against    *Against  `json:"against,omitempty"` // comparison with another build; nil without one
	NotTried   []string  `json:"notTried"`
	CannotTell []string  `json:"cannotTell"`
}

// Rehandled is a handler that is called again for the objects that another version of it has handled.
type Rehandled struct {
	Handler string `json:"handler"` // id
	Version string `json:"version"`
	Objects int    `json:"objects"` // number of marked objects
}

// Copy describes the objects that the operator has worked with.
type Copy struct {
	Context  string    `json:"context"`
	Server   string    `json:"server"` // version of the cluster's API server
	From     time.Time `json:"from"`
	To       time.Time `json:"to"`
	Objects  int       `json:"objects"`
	Redacted int       `json:"redacted"` // number of replaced values of Secrets
}

// Shape is a kind of behaviour: the same handlers with the same outcomes, and the same requests.
type Shape struct {
	ID       string    `json:"id"`
	Verdict  Verdict   `json:"verdict"`
	Count    int       `json:"count"`
	Resource string    `json:"resource"` // key such as "kopfexamples.v1.kopf.dev"; empty for requests that belong to no handled object
	Short    string    `json:"short"`    // short name of the resource, such as "kex"
	Objects  []string  `json:"objects"`  // namespaces and names of all objects
	Handlers []Handler `json:"handlers,omitempty"`
	Pass     *Pass     `json:"pass,omitempty"`
	Writes   []Write   `json:"writes,omitempty"`
	Own      []string  `json:"own,omitempty"` // the operator's own changes, such as "+ finalizer"
}

// Verdict sums up a shape.
type Verdict string

// The verdicts, in the order of a plan.
const (
	VerdictFails     Verdict = "fails"     // a handler would fail permanently, or the API server would reject a request
	VerdictStops     Verdict = "stops"     // a handler would call a step, and its further actions are unknown
	VerdictWaits     Verdict = "waits"     // a handler would be retried again and again
	VerdictChanges   Verdict = "changes"   // objects would change
	VerdictRecords   Verdict = "records"   // only the operator's own records would change
	VerdictPaused    Verdict = "paused"    // the object is paused
	VerdictUnchanged Verdict = "unchanged" // nothing would change
)

// verdicts are all verdicts, in the order of a plan.
var verdicts = []Verdict{VerdictFails, VerdictStops, VerdictWaits, VerdictChanges, VerdictRecords, VerdictPaused, VerdictUnchanged}

// Handler is a handler that was called.
type Handler struct {
	ID      string  `json:"id"`
	Reason  string  `json:"reason,omitempty"`
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"`
	Calls   int     `json:"calls,omitempty"`
	Delay   string  `json:"delay,omitempty"` // time until the next call, for [OutcomeWaits]
	Step    string  `json:"step,omitempty"`  // name of the step, for [OutcomeStops]
}

// Outcome is the outcome of a handler.
type Outcome string

// The outcomes.
const (
	OutcomeSucceeds Outcome = "succeeds"
	OutcomeFails    Outcome = "fails"
	OutcomeFailed   Outcome = "failed"  // the handler had failed before, and was not called
	OutcomeIgnored  Outcome = "ignored" // the handler would fail, and the operator ignores its errors
	OutcomeWaits    Outcome = "waits"
	OutcomeStops    Outcome = "stops"
	OutcomeRuns     Outcome = "runs" // the run ended while the handler was running, or before the call of the handler
)

// Pass is the last pass of a reconcile handler.
type Pass struct {
	Outcome string `json:"outcome"`
	Message string `json:"message,omitempty"`
	Applied int    `json:"applied"`
	Pruned  int    `json:"pruned"`
	Refused int    `json:"refused"`
}

// Write is the effect of all requests for one object.
type Write struct {
	Verbs    []string `json:"verbs"` // verbs such as "create", each once
	Resource string   `json:"resource"`
	Name     string   `json:"name"`         // namespace and name, with placeholders
	By       []string `json:"by,omitempty"` // ids of the handlers that sent the requests, or "the operator itself"; empty for requests of an unknown client
	Changes  []Change `json:"changes,omitempty"`
	Refused  []string `json:"refused,omitempty"` // answers of the API server to rejected requests
}

// Change is a changed field. Old and New are JSON, with placeholders.
type Change struct {
	Path string `json:"path"`
	Old  string `json:"old,omitempty"` // empty if there was no value
	New  string `json:"new,omitempty"` // empty if there is no value

	perObject bool // true for a field or a message, whose values can depend on the object; only set in a comparison
}

// Request counts requests.
type Request struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // key of the resource, and the subresource after a slash
	Count    int    `json:"count"`
	Own      bool   `json:"own,omitempty"` // sent by the operator itself, not by a handler
}
