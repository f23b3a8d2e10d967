package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// streamBuffer is the size of the read buffer. Longer frames are collected in a separate buffer.
const streamBuffer = 16 << 10

// keptBuffer is the size up to which a buffer is kept for reuse.
const keptBuffer = 1 << 20

// Stream is an open watch. Only its Close methods may be called concurrently.
type Stream struct {
	body    *meteredBody
	cancel  context.CancelCauseFunc
	ctx     context.Context
	reader  *bufio.Reader
	long    []byte
	options object.ParseOptions
}

// meteredBody is a response's body that reports when it receives something.
type meteredBody struct {
	io.ReadCloser
	received func() // called after each read; may be nil
}

// Read implements [io.Reader].
func (b *meteredBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 && b.received != nil {
		b.received()
	}
	return n, err
}

var (
	// ErrClosed is the error of [Stream.Next] after [Stream.Close].
	ErrClosed = errors.New("the stream is closed")

	// ErrDamaged is wrapped by the error of [Stream.Next] if a line is not a valid frame. Its event and later events may
	// be lost.
	ErrDamaged = errors.New("the stream is damaged")
)

// Watch opens a stream of the changes in a namespace, or in the cluster if the namespace is empty. The stream ends with
// the context. Watch does not retry, because the caller must also reopen streams that end, and knows the resourceVersion
// to continue from.
func (c *Client) Watch(ctx context.Context, res *resources.Resource, namespace string, options ListOptions) (*Stream, error) {
	r, err := about(http.MethodGet, res, namespace, "", "", options.query(true))
	if err != nil {
		return nil, err
	}
	r.stream = true
	if options.MetadataOnly {
		r.Accept = acceptsMetadata
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e := &exchange{client: c, request: &r, limit: c.options.AnswerTimeout, cancel: cancel}
	resp, err := e.send(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	e.end(resp.StatusCode, nil)
	return newStream(ctx, cancel, resp.Body, options.wire(res)), nil
}

func newStream(ctx context.Context, cancel context.CancelCauseFunc, from io.ReadCloser, options object.ParseOptions) *Stream {
	body := &meteredBody{ReadCloser: from}
	return &Stream{body: body, cancel: cancel, ctx: ctx, reader: bufio.NewReaderSize(body, streamBuffer), options: options}
}

// OnReceived sets a function that [Stream.Next] calls whenever bytes arrive, even for a partial frame.
func (s *Stream) OnReceived(received func()) { s.body.received = received }

// Next waits for the next frame. A frame is a line. If a server indents JSON, a frame has several lines, and its first
// line is only a bracket. The error is [io.EOF] if the server ended the stream regularly, and wraps [ErrDamaged] if a line
// is not a valid frame.
func (s *Stream) Next() (object.Frame, error) {
	if cap(s.long) > keptBuffer {
		s.long = nil
	}
	s.long = s.long[:0]
	line, err := s.readLine()
	if err == nil && string(bytes.TrimSpace(line)) == "{" {
		line, err = s.readIndented(line)
	}
	if err != nil {
		return object.Frame{}, err
	}
	frame, err := object.ParseFrame(line, s.options)
	if err != nil {
		return object.Frame{}, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return frame, nil
}

// readLine returns the next line, which is valid until the next call. A line that does not fit into
// the read buffer is added to s.long.
func (s *Stream) readLine() ([]byte, error) {
	start := len(s.long)
	for {
		line, err := s.reader.ReadSlice('\n')
		switch {
		case err == nil && len(s.long) == start:
			return line, nil
		case err == nil:
			s.long = append(s.long, line...)
			return s.long[start:], nil
		case errors.Is(err, bufio.ErrBufferFull):
			s.long = append(s.long, line...)
		default:
			return nil, s.ended(err, len(s.long)+len(bytes.TrimSpace(line)) > 0)
		}
	}
}

// readIndented returns all lines of an indented frame, given its first line. A closing bracket without indentation ends
// the frame; any other line without indentation means that the frame is incomplete.
func (s *Stream) readIndented(first []byte) ([]byte, error) {
	s.long = append(s.long[:0], first...)
	for {
		before := len(s.long)
		line, err := s.readLine()
		if err != nil {
			return nil, err
		}
		if len(s.long) == before {
			s.long = append(s.long, line...)
		}
		switch line[0] {
		case '}':
			return s.long, nil
		case ' ', '\t':
		default:
			return nil, fmt.Errorf("%w: a frame begins before the end of another", ErrDamaged)
		}
	}
}

func (s *Stream) ended(err error, truncated bool) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) && truncated {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("watch stream: %w", err)
}

// Close ends the stream: Next returns [ErrClosed].
func (s *Stream) Close() { s.CloseWith(ErrClosed) }

// CloseWith ends the stream: Next returns the error.
func (s *Stream) CloseWith(err error) {
	s.cancel(err)
	_ = s.body.Close() // the connection is not reused
}
