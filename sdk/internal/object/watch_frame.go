package object

import (
	"bytes"
	"fmt"
)

// Types of frames of a watch stream.
const (
	EventAdded    = "ADDED"
	EventModified = "MODIFIED"
	EventDeleted  = "DELETED"
	EventBookmark = "BOOKMARK"
	EventError    = "ERROR"
)

// initialEventsEnd is the annotation of the bookmark that ends a streamed list.
var initialEventsEnd = []byte(`"k8s.io/initial-events-end"`)

// Frame is a message of a watch stream.
type Frame struct {
	Type   string
	Object *Object // nil for [EventError]
	Status []byte  // the JSON of the status; nil except for [EventError]
}

// EndsInitialEvents reports whether everything that existed at the start of the stream
// was sent.
func (f Frame) EndsInitialEvents() bool {
	return f.Type == EventBookmark && bytes.Contains(f.Object.Raw, initialEventsEnd)
}

// ParseFrame reads one message of a watch stream. It copies the data. The error matches
// [io.ErrUnexpectedEOF] if the message is incomplete.
func ParseFrame(data []byte, opts ParseOptions) (Frame, error) {
	f := Frame{}
	s := &scanner{text: data}
	var object []byte
	for more := s.enter('{', '}'); more; more = s.after('}') {
		switch key := s.key(); {
		case string(key) == "type":
			f.Type = frameType(s.value())
		case string(key) == "object" && f.Type != "" && f.Type != EventError:
			// The type comes first, as the API server writes it: no second pass is needed.
			f.Object = s.object(opts)
		case string(key) == "object":
			object = s.value()
		default:
			s.value()
		}
	}
	if s.peek() != 0 {
		s.fail("more than one value")
	}
	err := s.err()
	switch {
	case err != nil:
	case f.Type == "" || (f.Object == nil && object == nil):
		err = fmt.Errorf("%w: no type or no object", errSyntax)
	case f.Type == EventError:
		f.Status = bytes.Clone(object)
	case f.Object == nil:
		f.Object, err = Parse(object, opts)
	}
	if err != nil {
		return Frame{}, fmt.Errorf("watch frame: %w", err)
	}
	return f, nil
}

// frameType returns the constant of a type, to avoid an allocation.
func frameType(quoted []byte) string {
	for _, known := range [...]string{EventAdded, EventModified, EventDeleted, EventBookmark, EventError} {
		if len(quoted) == len(known)+2 && string(quoted[1:len(quoted)-1]) == known {
			return known
		}
	}
	return string(textOf(quoted))
}
