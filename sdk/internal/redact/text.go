package redact

import "github.com/kopf-dev/kopf/sdk/internal/patch"

// Text returns a text in which the hidden values of the object, and of further objects or request bodies, are
// replaced. It finds values of at least 4 bytes: verbatim, in quotes, and in base64.
func (s *Secrets) Text(text string, bodies ...any) string {
	if s == nil {
		return text
	}
	var more []string
	for _, body := range bodies {
		more = append(more, s.find(body)...)
	}
	return s.hidden.Text(text, more...)
}

// Error returns an error that wraps err, with the message changed by [Secrets.Text].
func (s *Secrets) Error(err error, bodies ...any) error {
	if s == nil || err == nil {
		return err
	}
	before := err.Error()
	if text := s.Text(before, bodies...); text != before {
		return &redactedError{text: text, err: err}
	}
	return err
}

// redactedError is an error with another text.
type redactedError struct {
	text string
	err  error
}

// Error implements the error interface.
func (e *redactedError) Error() string { return e.text }

// Unwrap returns the error with the original text.
func (e *redactedError) Unwrap() error { return e.err }

// find returns the hidden values in an object or in the body of a request.
func (s *Secrets) find(body any) []string {
	ops, ok := body.([]patch.Op)
	if !ok {
		return s.hidden.Find(nil, plain(body))
	}
	var found []string
	for _, op := range ops {
		value := plain(op.Value)
		for _, path := range s.at(op.Path) {
			found = append(found, s.hidden.Find(path, value)...)
		}
	}
	return found
}
