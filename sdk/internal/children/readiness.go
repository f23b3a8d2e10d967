package children

import (
	"bytes"
	"fmt"
	"time"
	"unique"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// tree is decoded JSON.
type tree = map[string]any

// State classifies a child by its readiness.
type State uint8

// The states. Unknown is the state of a child whose controller has not written a status, and whose kind has no rule.
const (
	Unknown State = iota
	Progressing
	Ready
	Failed // it does not get ready without a change
	Terminating
)

// String returns the state in lower case.
func (s State) String() string {
	return [...]string{"unknown", "progressing", "ready", "failed", "terminating"}[s]
}

// Health is the state of a child, and why.
type Health struct {
	State   State
	Message string // such as "1 of 3 replicas are ready"
}

func (h Health) is(state State, format string, args ...any) Health {
	h.State, h.Message = state, format
	if len(args) > 0 {
		h.Message = fmt.Sprintf(format, args...)
	}
	return h
}

// Assess returns the health of a child by the rules of kstatus, with the exceptions that docs/decisions/children.md lists. Without a
// status subresource, a kind has no controller that reports, so that its objects are ready once they exist.
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

// reader reads the text of an object, and keeps the fields of its status on which the health depends.
type reader struct {
	metadata, spec, status []byte
	facts                  tree
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

// field returns the JSON text of the field at a path; nil if there is no such field.
func field(text []byte, path ...string) []byte {
	for _, key := range path {
		text = object.Member(text, key)
	}
	return text
}

// decoded returns the value of a text; nil for texts that are absent or no JSON.
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

// plain returns the text that a JSON text stands for; empty for other values.
func plain(value []byte) string {
	if n := len(value); n >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : n-1])
	}
	return text(decoded(value))
}

// stands reports whether a JSON text stands for a text. It allocates nothing for texts without escapes.
func stands(value []byte, want string) bool {
	if bytes.IndexByte(value, '\\') >= 0 {
		return plain(value) == want
	}
	return len(value) == len(want)+2 && value[0] == '"' && string(value[1:len(value)-1]) == want
}

// wants returns a number of the spec.
func (r *reader) wants(otherwise int64, path ...string) int64 {
	if n, ok := decoded(field(r.spec, path...)).(int64); ok {
		return n
	}
	return otherwise
}

// number returns a number of the status, and whether it is there.
func (r *reader) number(name string) (int64, bool) {
	n, ok := decoded(field(r.status, name)).(int64)
	if ok && name != "observedGeneration" {
		r.facts[name] = n
	}
	return n, ok
}

// count is number with a default of 0, which the API server leaves out.
func (r *reader) count(name string) int64 {
	n, found := r.number(name)
	if !found {
		r.facts[name] = int64(0)
	}
	return n
}

// phase returns a text of the status.
func (r *reader) phase(name string) string {
	s := plain(field(r.status, name))
	r.facts[name] = s
	return s
}

// condition returns a condition of the status; its status is empty if it is absent.
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

// reasonFor returns the message of a condition, or else its reason, or the text.
func (c condition) reasonFor(otherwise string) string {
	if message := plain(field(c.text, "message")); message != "" {
		return otherwise + ": " + message
	}
	if reason := c.reason(); reason != "" {
		return otherwise + ": " + reason
	}
	return otherwise
}

// Unready reports whether the child exists, and is neither ready nor being deleted.
func (d *Digest) Unready() bool { return d.State != Ready && d.State != Terminating }

// Late returns the digest of a child that has not got ready within a limit.
func (d Digest) Late(limit time.Duration) Digest {
	if d.State != Failed {
		d.State, d.message = Failed, unique.Make("not ready within "+limit.String()+": "+d.Message())
	}
	return d
}

// UnreadySince returns since when a child is not ready, as far as its text says: the time of the last apply, or the newest
// change of a condition. Without conditions, the loss of readiness has no time: it returns the time now.
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
