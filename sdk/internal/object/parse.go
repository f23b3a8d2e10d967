package object

import (
	"fmt"
	"strconv"
	"time"
)

// Options tell how to read objects.
type ParseOptions struct {
	// KeepManagedFields leaves metadata.managedFields in the text. They are often half of
	// it, and only tools about field ownership look at them.
	KeepManagedFields bool

	// APIVersion and Kind are written into objects that have none: the items of lists of
	// built-in resources.
	APIVersion string
	Kind       string
}

// Parse reads one object. The data are copied, so that the buffer can be used again.
func Parse(data []byte, opts ParseOptions) (*Object, error) {
	s := &rawScanner{data: data}
	return s.object(opts)
}

// marks collects what is found on the way over an object's text.
type marks struct {
	apiVersion, kind              []byte // nil if absent
	name, namespace, uid, version []byte
	generation                    int64
	created                       time.Time
	deleting                      bool
	cutFrom, cutTo                int // managedFields with their comma
}

// object reads an object from the current position.
func (s *rawScanner) object(opts ParseOptions) (*Object, error) {
	if _, err := s.next(); err != nil {
		return nil, err
	}
	start := s.pos
	var m marks
	more, err := s.enter()
	empty := !more
	for err == nil && more {
		more, err = s.topMember(&m)
	}
	if err != nil {
		return nil, err
	}
	o := &Object{
		APIVersion: intern(m.apiVersion, opts.APIVersion),
		Kind:       intern(m.kind, opts.Kind),
		Generation: m.generation,
		Created:    m.created,
		Deleting:   m.deleting,
	}
	// The four short strings live in one allocation.
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
	if opts.KeepManagedFields || m.cutTo == 0 {
		m.cutFrom, m.cutTo = s.pos, s.pos
	}
	o.Raw = make([]byte, 0, s.pos-start-(m.cutTo-m.cutFrom)+len(missing))
	o.Raw = append(o.Raw, '{')
	o.Raw = append(o.Raw, missing...)
	o.Raw = append(o.Raw, s.data[start+1:m.cutFrom]...)
	o.Raw = append(o.Raw, s.data[m.cutTo:s.pos]...)
	return o, nil
}

func (s *rawScanner) topMember(m *marks) (more bool, err error) {
	key, err := s.member()
	if err != nil {
		return false, err
	}
	switch string(key) {
	case "metadata":
		if c, err := s.next(); err != nil || c != '{' {
			_, err = s.value()
			if err != nil {
				return false, err
			}
			break
		}
		if err := s.metadata(m); err != nil {
			return false, err
		}
	case "apiVersion", "kind":
		v, err := s.value()
		if err != nil {
			return false, err
		}
		if len(key) == len("kind") {
			m.kind = unquoteRaw(v)
		} else {
			m.apiVersion = unquoteRaw(v)
		}
	default:
		if _, err := s.value(); err != nil {
			return false, err
		}
	}
	return s.after('}')
}

func (s *rawScanner) metadata(m *marks) error {
	more, err := s.enter()
	// previous is where the text before a member's comma ends.
	previous := s.pos
	first := true
	for err == nil && more {
		var key, v []byte
		if key, err = s.member(); err != nil {
			break
		}
		if v, err = s.value(); err != nil {
			break
		}
		end := s.pos
		if more, err = s.after('}'); err != nil {
			break
		}
		if string(key) == "managedFields" {
			// The only comma to go is the one behind the member, or before it if it is the last.
			switch {
			case more:
				m.cutFrom, m.cutTo = previous, s.pos
				if !first {
					m.cutTo = s.pos - 1
				}
			default:
				m.cutFrom, m.cutTo = previous, end
			}
			continue
		}
		first, previous = false, end
		if err := m.note(key, v); err != nil {
			return fmt.Errorf("%w: metadata.%s", err, key)
		}
	}
	return err
}

func (m *marks) note(key, v []byte) error {
	switch string(key) {
	case "name":
		m.name = unquoteRaw(v)
	case "namespace":
		m.namespace = unquoteRaw(v)
	case "uid":
		m.uid = unquoteRaw(v)
	case "resourceVersion":
		m.version = unquoteRaw(v)
	case "generation":
		n, err := strconv.ParseInt(string(v), 10, 64)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSyntax, err)
		}
		m.generation = n
	case "creationTimestamp":
		// Objects that were never stored have null here.
		if text := string(unquoteRaw(v)); text != "" {
			t, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return fmt.Errorf("%w: %w", ErrSyntax, err)
			}
			m.created = t
		}
	case "deletionTimestamp":
		m.deleting = len(unquoteRaw(v)) > 0
	}
	return nil
}

// intern returns the expected string rather than an equal one of its own memory.
func intern(found []byte, expected string) string {
	if found == nil || string(found) == expected {
		return expected
	}
	return string(found)
}
