package object

import (
	"bytes"
	"fmt"
)

// Types of frames of a watch stream, as the API writes them.
const (
	EventAdded    = "ADDED"
	EventModified = "MODIFIED"
	EventDeleted  = "DELETED"
	EventBookmark = "BOOKMARK"
	EventError    = "ERROR"
)

// initialEventsEnd is the annotation of the bookmark that ends a streamed list.
var initialEventsEnd = []byte(`"k8s.io/initial-events-end"`)

// Frame is one message of a watch stream.
type Frame struct {
	Type   string
	Object *Object // of all types but Error
	Status []byte  // the text of the status of an Error
}

// EndsInitialEvents reports if everything that existed when the stream began was told.
func (f Frame) EndsInitialEvents() bool {
	return f.Type == EventBookmark && bytes.Contains(f.Object.Raw, initialEventsEnd)
}

// ParseFrame reads one message of a watch stream. A message that is not complete is an
// error that wraps io.ErrUnexpectedEOF.
func ParseFrame(data []byte, opts ParseOptions) (Frame, error) {
	var f Frame
	s := &rawScanner{data: data}
	at := -1
	more, err := s.enter()
	for err == nil && more {
		var key []byte
		if key, err = s.member(); err != nil {
			break
		}
		name := string(key)
		if _, err = s.next(); err != nil {
			break
		}
		begin := s.pos
		switch {
		case name == "object" && f.Type != "" && f.Type != EventError:
			// Known to be an object, as the type came first, which is how the API writes it.
			f.Object, err = s.object(opts)
		default:
			var v []byte
			v, err = s.value()
			switch name {
			case "type":
				f.Type = frameType(v)
			case "object":
				at, f.Status = begin, v
			}
		}
		if err == nil {
			more, err = s.after('}')
		}
	}
	if err != nil {
		return Frame{}, fmt.Errorf("watch frame: %w", err)
	}
	switch {
	case f.Type == "" || (f.Object == nil && at < 0):
		return Frame{}, fmt.Errorf("watch frame: %w: no type or no object", ErrSyntax)
	case f.Type == EventError:
		f.Status = bytes.Clone(f.Status)
	case f.Object == nil:
		if f.Object, err = Parse(f.Status, opts); err != nil {
			return Frame{}, fmt.Errorf("watch frame: %w", err)
		}
		f.Status = nil
	}
	return f, nil
}

// frameType returns the constant of a type, so that the usual ones allocate nothing.
func frameType(quoted []byte) string {
	for _, known := range [...]string{EventAdded, EventModified, EventDeleted, EventBookmark, EventError} {
		if len(quoted) == len(known)+2 && string(quoted[1:len(quoted)-1]) == known {
			return known
		}
	}
	return string(unquoteRaw(quoted))
}
