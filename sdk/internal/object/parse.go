package object

import (
	"strconv"
	"time"
)

// ParseOptions say how to read objects.
type ParseOptions struct {
	// KeepManagedFields keeps metadata.managedFields, which are often half of the text and
	// which only tools about field ownership read.
	KeepManagedFields bool

	// APIVersion and Kind are added to objects that have none, such as the items of lists of built-in resources. They replace
	// the type PartialObjectMetadata, which the API server returns when metadata alone is requested.
	APIVersion string
	Kind       string

	// Keep reports whether an item of a list is of interest: [ReadList] drops all others. Optional.
	Keep func(*Object) bool
}

// Parse reads one object. It copies the data, so that the caller may reuse the buffer. The
// error matches [io.ErrUnexpectedEOF] if the text ends too early.
func Parse(data []byte, opts ParseOptions) (*Object, error) {
	s := &scanner{text: data}
	o := s.object(opts)
	return o, s.err()
}

// header has the fields that are read from an object without decoding it.
type header struct {
	apiVersion, kind              []byte // nil if absent
	apiVersionAt, kindAt          span
	name, namespace, uid, version []byte
	generation                    int64
	created                       time.Time
	deleting                      bool
	managed                       span // managedFields with their comma; empty if there are none
}

// span is a part of the text.
type span struct{ from, to int }

// edit replaces a part of the text.
type edit struct {
	span
	text string
}

// isMetadata reports whether the object is the metadata of another type's object.
func (m *header) isMetadata() bool {
	return string(m.kind) == "PartialObjectMetadata" && string(m.apiVersion) == "meta.k8s.io/v1"
}

// object reads the object that comes next; nil if it fails.
func (s *scanner) object(opts ParseOptions) *Object {
	s.peek()
	start := s.pos
	var m header
	more := s.enter('{', '}')
	empty := !more
	for ; more; more = s.after('}') {
		s.topMember(&m)
	}
	if s.problem != "" {
		return nil
	}
	o := &Object{
		APIVersion: intern(m.apiVersion, opts.APIVersion),
		Kind:       intern(m.kind, opts.Kind),
		Generation: m.generation,
		Created:    m.created,
		Deleting:   m.deleting,
	}
	var edits [3]edit
	changed := edits[:0]
	if !opts.KeepManagedFields && m.managed.to > 0 {
		changed = append(changed, edit{span: m.managed})
	}
	if m.isMetadata() && opts.APIVersion != "" && opts.Kind != "" {
		changed = append(changed, edit{m.apiVersionAt, strconv.Quote(opts.APIVersion)}, edit{m.kindAt, strconv.Quote(opts.Kind)})
		for i := range changed { // there are at most three, and slices.SortFunc would link 9 KB
			for at := i; at > 0 && changed[at].from < changed[at-1].from; at-- {
				changed[at], changed[at-1] = changed[at-1], changed[at]
			}
		}
		o.APIVersion, o.Kind = opts.APIVersion, opts.Kind
	}
	// The four short strings share one allocation.
	all := string(m.uid) + string(m.version) + string(m.name) + string(m.namespace)
	take := func(part []byte) (taken string) {
		taken, all = all[:len(part)], all[len(part):]
		return taken
	}
	o.UID, o.ResourceVersion, o.Name, o.Namespace = take(m.uid), take(m.version), take(m.name), take(m.namespace)

	var missing string
	if m.apiVersion == nil && opts.APIVersion != "" {
		missing += `"apiVersion":` + strconv.Quote(opts.APIVersion) + `,`
	}
	if m.kind == nil && opts.Kind != "" {
		missing += `"kind":` + strconv.Quote(opts.Kind) + `,`
	}
	if missing != "" && empty {
		missing = missing[:len(missing)-1]
	}
	size := s.pos - start + len(missing)
	for _, e := range changed {
		size += len(e.text) - (e.to - e.from)
	}
	o.Raw = make([]byte, 0, size)
	o.Raw = append(o.Raw, '{')
	o.Raw = append(o.Raw, missing...)
	from := start + 1
	for _, e := range changed {
		o.Raw = append(o.Raw, s.text[from:e.from]...)
		o.Raw = append(o.Raw, e.text...)
		from = e.to
	}
	o.Raw = append(o.Raw, s.text[from:s.pos]...)
	return o
}

func (s *scanner) topMember(m *header) {
	switch key := s.key(); string(key) {
	case "metadata":
		if s.peek() == '{' {
			s.metadata(m)
		} else {
			s.value()
		}
	case "apiVersion":
		m.apiVersion, m.apiVersionAt = s.textAt()
	case "kind":
		m.kind, m.kindAt = s.textAt()
	default:
		s.value()
	}
}

// textAt steps over a string, and returns its content and its place.
func (s *scanner) textAt() ([]byte, span) {
	value := s.value()
	return textOf(value), span{s.pos - len(value), s.pos}
}

func (s *scanner) metadata(m *header) {
	more := s.enter('{', '}')
	// previous is where the text before a member's comma ends.
	previous := s.pos
	first := true
	for more {
		key, value := s.key(), s.value()
		end := s.pos
		more = s.after('}')
		if string(key) == "managedFields" {
			// The only comma to cut is the one behind the member, or before it if it is the last.
			switch {
			case more:
				m.managed = span{previous, s.pos}
				if !first {
					m.managed.to--
				}
			default:
				m.managed = span{previous, end}
			}
			continue
		}
		first, previous = false, end
		if problem := m.read(key, value); problem != "" {
			s.pos = end
			s.fail(problem)
		}
	}
}

// read stores a member of the metadata, or returns the problem with it.
func (m *header) read(key, value []byte) (problem string) {
	switch string(key) {
	case "name":
		m.name = textOf(value)
	case "namespace":
		m.namespace = textOf(value)
	case "uid":
		m.uid = textOf(value)
	case "resourceVersion":
		m.version = textOf(value)
	case "generation":
		var err error
		if m.generation, err = strconv.ParseInt(string(value), 10, 64); err != nil {
			return "metadata.generation: " + err.Error()
		}
	case "creationTimestamp":
		// Objects that were never stored have null here.
		if text := textOf(value); len(text) > 0 {
			err := m.created.UnmarshalText(text)
			if err != nil { // it is stricter, but needs no string
				m.created, err = time.Parse(time.RFC3339, string(text))
			}
			if err != nil {
				return "metadata.creationTimestamp: " + err.Error()
			}
		}
	case "deletionTimestamp":
		m.deleting = len(textOf(value)) > 0
	}
	return ""
}

// intern returns the expected string if the bytes equal it, which avoids an allocation.
func intern(found []byte, expected string) string {
	if found == nil || string(found) == expected {
		return expected
	}
	return string(found)
}
