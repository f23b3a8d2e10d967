package object

import "bytes"

// SameBut reports if two versions of an object are the same text but for the status, for
// what the server counts (the resource version, the generation), and for the annotations that the
// function names. It decodes nothing, and is false when in doubt: versions that mean the same may
// be written in different ways.
func (o *Object) SameBut(other *Object, annotation func(key string) bool) bool {
	status := func(key []byte) bool { return string(key) == "status" || string(key) == "metadata" }
	counted := func(key []byte) bool {
		switch string(key) {
		case "resourceVersion", "generation", "managedFields", "annotations":
			return true
		}
		return false
	}
	mine, theirs := o.Member("metadata"), other.Member("metadata")
	return sameMembers(o.Raw, other.Raw, status) &&
		sameMembers(mine, theirs, counted) &&
		sameMembers(memberOf(mine, "annotations"), memberOf(theirs, "annotations"), func(key []byte) bool { return annotation(string(unescaped(key))) })
}

// unescaped is the content of a key that was read without its quotes.
func unescaped(key []byte) []byte {
	if bytes.IndexByte(key, '\\') < 0 {
		return key
	}
	return unquoteRaw(append(append([]byte{'"'}, key...), '"'))
}

// sameMembers compares two objects member by member, in the order of the texts. An object that
// is not there is an empty one.
func sameMembers(a, b []byte, skip func(key []byte) bool) bool {
	one, two := newMembers(a), newMembers(b)
	for {
		one.next(skip)
		two.next(skip)
		switch {
		case one.broken || two.broken:
			return false
		case one.key == nil || two.key == nil:
			return one.key == nil && two.key == nil
		case !bytes.Equal(one.key, two.key) || !bytes.Equal(one.value, two.value):
			return false
		}
	}
}

// members steps over the members of an object.
type members struct {
	rawScanner
	more, broken bool
	key, value   []byte // of the current one; no key after the last one
}

func newMembers(text []byte) *members {
	m := &members{rawScanner: rawScanner{data: text}}
	if len(text) > 0 {
		var err error
		m.more, err = m.enter()
		m.broken = err != nil
	}
	return m
}

// next steps to the next member that is not to be skipped.
func (m *members) next(skip func(key []byte) bool) {
	m.key = nil
	for m.more && !m.broken {
		key, err := m.member()
		if err == nil {
			m.value, err = m.rawScanner.value()
		}
		if err == nil {
			m.more, err = m.after('}')
		}
		m.broken = err != nil
		if !m.broken && !skip(key) {
			m.key = key
			return
		}
	}
}
