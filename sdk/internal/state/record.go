package state

import (
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Record is what is kept of one handler of one object during a cycle of handling. The
// times have microseconds; zero means never.
type Record struct {
	Started time.Time // when the handler was selected for the first time in the cycle
	Stopped time.Time // when it succeeded or failed for good
	Delayed time.Time // when it may be called again at the earliest
	Purpose string    // the reason of the cycle, such as "create"; empty if unknown
	Retries int       // how many times it was called
	Success bool      // it is done
	Failure bool      // it has failed for good
	Message string    // the last error
	Subrefs []string  // the ids of its sub-handlers of all levels
}

// BrokenError says that the record of a handler is not readable.
type BrokenProgressError struct {
	ID    string // the handler
	Where string // the annotation or the field
	Err   error  // what is wrong with it
}

// Error implements error.
func (e *BrokenProgressError) Error() string {
	return fmt.Sprintf("the progress of handler %q in %s is broken: %v", e.ID, e.Where, e.Err)
}

// Unwrap returns what is wrong with the record.
func (e *BrokenProgressError) Unwrap() error { return e.Err }

// Equal tells if both records say the same.
func (r Record) Equal(other Record) bool {
	return r.Started.Equal(other.Started) && r.Stopped.Equal(other.Stopped) && r.Delayed.Equal(other.Delayed) &&
		r.Purpose == other.Purpose && r.Retries == other.Retries && r.Success == other.Success &&
		r.Failure == other.Failure && r.Message == other.Message && slices.Equal(r.Subrefs, other.Subrefs)
}

// isZero tells an empty record from one of a handler: those have a start.
func (r Record) isZero() bool {
	return r.Equal(Record{})
}

// text returns the JSON of the record. What is unknown is left out, unless the text
// is to be verbose.
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

// tree returns the record as it is kept in a field. What is unknown is null, so that
// what was there before does not remain.
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

// parseRecord reads what any version of any operator has written. Null and absence
// are the same; fields that nobody knows are passed over.
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

// parser reads fields and remembers the first one that is wrong.
type parser struct {
	fields map[string]any
	err    error
}

func (p *parser) refuse(name string, value any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s is of %T", name, value)
	}
}

func (p *parser) time(name string) time.Time {
	s := p.text(name)
	if s == "" {
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

func (p *parser) number(name string) int {
	switch v := p.fields[name].(type) {
	case nil:
	case int64:
		return int(v)
	case float64:
		return int(v)
	default:
		p.refuse(name, v)
	}
	return 0
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
