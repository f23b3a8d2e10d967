package state

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Record is the stored progress of one handler of one object. Times have a precision of microseconds;
// zero means that the time is not set.
type Record struct {
	Started time.Time // time when the handler was first selected
	Stopped time.Time // time of success or permanent failure; zero until then
	Delayed time.Time // earliest time of the next call; zero means at once
	Purpose string    // reason for which the handler is called, such as "create"; empty if unknown
	Retries int       // number of calls so far
	Success bool      // the handler succeeded
	Failure bool      // the handler failed permanently
	Message string    // the last error
	Subrefs []string  // ids of sub-handlers of all levels
}

// progressOf returns the name of a handler's progress in errors.
func progressOf(id string) string { return fmt.Sprintf("the progress of handler %q", id) }

// Equal reports whether both records are the same.
func (r Record) Equal(other Record) bool {
	return r.Started.Equal(other.Started) && r.Stopped.Equal(other.Stopped) && r.Delayed.Equal(other.Delayed) &&
		r.Purpose == other.Purpose && r.Retries == other.Retries && r.Success == other.Success &&
		r.Failure == other.Failure && r.Message == other.Message && slices.Equal(r.Subrefs, other.Subrefs)
}

// isZero reports whether the record is empty. A stored record always has a start.
func (r Record) isZero() bool {
	return r.Equal(Record{})
}

// text returns the JSON of the record. Unknown values are omitted, or null if verbose.
func (r Record) text(verbose bool) string {
	if r.isZero() {
		return "{}"
	}
	dst := make([]byte, 0, 256)
	dst = append(dst, '{')
	member := func(name string, known bool, value func()) {
		if !known && !verbose {
			return
		}
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, '"')
		dst = append(dst, name...)
		dst = append(dst, '"', ':')
		if !known {
			dst = append(dst, "null"...)
			return
		}
		value()
	}
	at := func(name string, t time.Time) {
		member(name, !t.IsZero(), func() {
			dst = object.AppendString(dst, object.FormatTime(t))
		})
	}
	at("started", r.Started)
	at("stopped", r.Stopped)
	at("delayed", r.Delayed)
	member("purpose", r.Purpose != "", func() { dst = object.AppendString(dst, r.Purpose) })
	member("retries", true, func() { dst = fmt.Append(dst, r.Retries) })
	member("success", true, func() { dst = fmt.Append(dst, r.Success) })
	member("failure", true, func() { dst = fmt.Append(dst, r.Failure) })
	member("message", r.Message != "", func() { dst = object.AppendString(dst, r.Message) })
	member("subrefs", len(r.Subrefs) > 0, func() {
		for i, id := range r.Subrefs {
			dst = append(dst, "[,"[min(i, 1)])
			dst = object.AppendString(dst, id)
		}
		dst = append(dst, ']')
	})
	return string(append(dst, '}'))
}

// tree returns the record as the value of a field. Unknown values are null, so that a merge patch removes earlier values.
func (r Record) tree() map[string]any {
	if r.isZero() {
		return map[string]any{}
	}
	at := func(t time.Time) any {
		if t.IsZero() {
			return nil
		}
		return object.FormatTime(t)
	}
	text := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	var subrefs any
	if len(r.Subrefs) > 0 {
		list := make([]any, len(r.Subrefs))
		for i, id := range r.Subrefs {
			list[i] = id
		}
		subrefs = list
	}
	return map[string]any{
		"started": at(r.Started),
		"stopped": at(r.Stopped),
		"delayed": at(r.Delayed),
		"purpose": text(r.Purpose),
		"retries": int64(r.Retries),
		"success": r.Success,
		"failure": r.Failure,
		"message": text(r.Message),
		"subrefs": subrefs,
	}
}

// parseRecord parses a record of any version of Kopf. Null means absent; unknown fields are ignored.
func parseRecord(m map[string]any) (*Record, error) {
	p := parser{fields: m}
	r := &Record{
		Started: p.time("started"),
		Stopped: p.time("stopped"),
		Delayed: p.time("delayed"),
		Purpose: p.text("purpose"),
		Retries: p.number("retries"),
		Success: p.flag("success"),
		Failure: p.flag("failure"),
		Message: p.text("message"),
		Subrefs: p.list("subrefs"),
	}
	if p.err != nil {
		return nil, p.err
	}
	return r, nil
}

// maxTime is the maximum number of characters of a time that is parsed; times of operators are shorter.
const maxTime = 64

// parser reads fields and keeps the first error.
type parser struct {
	fields map[string]any
	err    error
}

func (p *parser) refuse(name string, value any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s has the wrong type %T", name, value)
	}
}

func (p *parser) time(name string) time.Time {
	s := p.text(name)
	if s == "" {
		return time.Time{}
	}
	if len(s) > maxTime {
		p.refuseValue(name, fmt.Sprintf("a string of %d bytes", len(s))) // the error must not contain the long string
		return time.Time{}
	}
	t, err := object.ParseTime(s)
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s: %w", name, err)
	}
	return t
}

func (p *parser) text(name string) string {
	switch v := p.fields[name].(type) {
	case nil:
	case string:
		return v
	default:
		p.refuse(name, v)
	}
	return ""
}

// number returns a count of calls, which other programs may have written as a float.
func (p *parser) number(name string) int {
	switch v := p.fields[name].(type) {
	case nil:
	case int64:
		if v >= 0 && v <= math.MaxInt32 {
			return int(v)
		}
		p.refuseValue(name, v)
	case float64:
		if v >= 0 && v <= math.MaxInt32 && v == math.Trunc(v) {
			return int(v)
		}
		p.refuseValue(name, v)
	default:
		p.refuse(name, v)
	}
	return 0
}

func (p *parser) refuseValue(name string, value any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s is %v", name, value)
	}
}

func (p *parser) flag(name string) bool {
	switch v := p.fields[name].(type) {
	case nil:
	case bool:
		return v
	default:
		p.refuse(name, v)
	}
	return false
}

func (p *parser) list(name string) []string {
	items, ok := p.fields[name].([]any)
	if !ok {
		if v := p.fields[name]; v != nil {
			p.refuse(name, v)
		}
		return nil
	}
	out := make([]string, 0, len(items))
	for _, item := range items {
		id, ok := item.(string)
		if !ok {
			p.refuse(name, item)
			return nil
		}
		out = append(out, id)
	}
	return out
}
