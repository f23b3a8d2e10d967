package children

import (
	"bytes"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// tree is decoded JSON.
type tree = map[string]any

// State classifies a child by its readiness.
type State uint8

// The states.
const (
	Unknown State = iota // the controller has written no status, and the kind has no rule
	Progressing
	Ready
	Failed      // the child does not become ready without a change
	Terminating // the child is being deleted
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"unknown", "progressing", "ready", "failed", "terminating"}[s]
}

// Health is the state of a child with the reason.
type Health struct {
	State   State
	Message string // reason for the state, such as "1 of 3 replicas are ready"
}

func (h Health) is(state State, format string, args ...any) Health {
	h.State, h.Message = state, format
	if len(args) > 0 {
		h.Message = fmt.Sprintf(format, args...)
	}
	return h
}

// Assess returns the health of a child by the rules of kstatus, with the exceptions that docs/decisions/children.md lists. Objects
// of a kind without a status subresource are ready as soon as they exist, because no controller reports about them.
func Assess(o *object.Object, hasStatus bool) Health { return readerOf(o).assess(o, hasStatus, nil) }

func (r *reader) assess(o *object.Object, hasStatus bool, readyIf func(*object.Object) Health) Health {
	var h Health
	if o.Deleting {
		return h.is(Terminating, "it is being deleted")
	}
	observed, seen := r.number("observedGeneration")
	if seen && observed != o.Generation {
		return h.is(Progressing, "its controller has not seen the latest change")
	}
	if readyIf != nil {
		return readyIf(o)
	}
	if c := r.condition("Stalled"); c.status == "True" {
		return h.is(Failed, "%s", c.reasonFor("it is stalled"))
	}
	if c := r.condition("Reconciling"); c.status == "True" {
		return h.is(Progressing, "%s", c.reasonFor("it is reconciling"))
	}
	if rule := ruleOf(o); rule != nil {
		return rule(r, h, seen)
	}
	c := r.condition("Ready")
	switch {
	case c.status == "True":
		return h.is(Ready, "it is ready")
	case c.status != "":
		return h.is(Progressing, "%s", c.reasonFor("it is not ready"))
	case !hasStatus:
		return h.is(Ready, "it exists")
	case r.hasNoStatus():
		return h.is(Unknown, "its controller has written no status")
	}
	return h.is(Ready, "its controller has seen the latest change")
}

// reader reads fields from the JSON of an object, and collects the status fields that decide about the health.
type reader struct {
	metadata, spec, status []byte
	facts                  tree // status fields that were read
}

func readerOf(o *object.Object) *reader {
	r := &reader{facts: tree{}}
	for key, value := range object.Members(o.Raw) {
		switch key {
		case "metadata":
			r.metadata = value
		case "spec":
			r.spec = value
		case "status":
			r.status = value
		}
	}
	return r
}

// hasNoStatus reports whether the status is absent, null or an empty map.
func (r *reader) hasNoStatus() bool {
	for range object.Members(r.status) {
		return false
	}
	return true
}

// field returns the JSON of the field at a path; nil if there is no such field.
func field(text []byte, path ...string) []byte {
	for _, key := range path {
		text = object.Member(text, key)
	}
	return text
}

// decoded returns the value of JSON; nil if it is empty or invalid.
func decoded(value []byte) any {
	if len(value) == 0 {
		return nil
	}
	v, err := object.DecodeJSON(value)
	if err != nil {
		return nil
	}
	return v
}

// plain returns the value of a JSON string; empty for other values.
func plain(value []byte) string {
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : n-1])
	}
	return text(decoded(value))
}

// stands reports whether JSON is the string want. It allocates no memory for strings without escapes.
func stands(value []byte, want string) bool {
	if bytes.IndexByte(value, '\\') >= 0 {
		return plain(value) == want
	}
	return len(value) == len(want)+2 && value[0] == '"' && string(value[1:len(value)-1]) == want
}

// wants returns a number of the spec, or a default if the number is absent.
func (r *reader) wants(otherwise int64, path ...string) int64 {
	if n, ok := decoded(field(r.spec, path...)).(int64); ok {
		return n
	}
	return otherwise
}

// number returns a number of the status; false if it is absent.
func (r *reader) number(name string) (int64, bool) {
	n, ok := decoded(field(r.status, name)).(int64)
	if ok && name != "observedGeneration" {
		r.facts[name] = n
	}
	return n, ok
}

// count returns a number of the status; 0 if it is absent, because the API server omits zeros.
func (r *reader) count(name string) int64 {
	n, found := r.number(name)
	if !found {
		r.facts[name] = int64(0)
	}
	return n
}

// phase returns a string of the status; empty if it is absent.
func (r *reader) phase(name string) string {
	s := plain(field(r.status, name))
	r.facts[name] = s
	return s
}

// condition returns a condition of the status; the zero condition if it is absent.
func (r *reader) condition(kind string) condition {
	for item := range object.Items(field(r.status, "conditions")) {
		if plain(field(item, "type")) != kind {
			continue
		}
		c := condition{text: item, status: plain(field(item, "status"))}
		conditions, ok := r.facts["conditions"].(tree)
		if !ok {
			conditions = tree{}
			r.facts["conditions"] = conditions
		}
		conditions[kind] = c.status
		return c
	}
	return condition{}
}

type condition struct {
	status string
	text   []byte
}

func (c condition) reason() string { return plain(field(c.text, "reason")) }

// reasonFor returns a text, followed by the message of the condition or, without a message, by its reason.
func (c condition) reasonFor(otherwise string) string {
	if message := plain(field(c.text, "message")); message != "" {
		return otherwise + ": " + message
	}
	if reason := c.reason(); reason != "" {
		return otherwise + ": " + reason
	}
	return otherwise
}

// Unready reports whether the child is neither ready nor being deleted.
func (d *Digest) Unready() bool { return d.State != Ready && d.State != Terminating }

// Late returns the digest as Failed, because the child has not become ready within a limit.
func (d Digest) Late(limit time.Duration) Digest {
	if d.State != Failed {
		d.SetState(Failed, "not ready within "+limit.String()+": "+d.Message())
	}
	return d
}

// UnreadySince estimates since when a child is unready. It returns the time of the newest change of a condition, or of the operator's
// last apply if that is later. Without conditions, it returns now.
func (l *Lens) UnreadySince(o *object.Object, now time.Time) time.Time {
	var since time.Time
	for item := range object.Items(field(o.Raw, "status", "conditions")) {
		if at, err := object.ParseTime(plain(field(item, "lastTransitionTime"))); err == nil && at.After(since) {
			since = at
		}
	}
	if since.IsZero() || since.After(now) {
		return now
	}
	for item := range object.Items(field(o.Raw, "metadata", "managedFields")) {
		if plain(field(item, "manager")) != l.Manager {
			continue
		}
		if at, err := object.ParseTime(plain(field(item, "time"))); err == nil && at.After(since) && !at.After(now) {
			since = at
		}
	}
	return since
}
