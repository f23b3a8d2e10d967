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

// streamBuffer is the size of the read buffer. Longer frames are collected in another one.
const streamBuffer = 16 << 10

// keptBuffer is the size up to which a buffer is kept for reuse.
const keptBuffer = 1 << 20

// Stream is an open watch. Only its Close methods may be called concurrently.
type Stream struct {
	body    io.ReadCloser
	cancel  context.CancelCauseFunc
	ctx     context.Context
	reader  *bufio.Reader
	long    []byte
	options object.ParseOptions
}

// ErrClosed is the error of [Stream.Next] after [Stream.Close].
var ErrClosed = errors.New("the stream is closed")

// Watch opens a stream of the changes in a namespace, or in the cluster if the namespace is
// empty. The stream ends with the context. Watch does not retry: its caller must reopen ended
// streams anyway, and knows from which resourceVersion.
func (c *Client) Watch(ctx context.Context, res *resources.Resource, namespace string, options ListOptions) (*Stream, error) {
	r, err := about(http.MethodGet, res, namespace, "", "", options.query(true))
	if err != nil {
		return nil, err
	}
	r.stream = true
	ctx, cancel := context.WithCancelCause(ctx)
	e := &exchange{client: c, request: r, limit: c.options.StreamTimeout, cancel: cancel}
	resp, err := e.send(ctx)
	if err != nil {
		cancel(nil)
		return nil, err
	}
	e.end(resp.StatusCode, nil)
	return &Stream{
		body: resp.Body, cancel: cancel, ctx: ctx,
		reader:  bufio.NewReaderSize(resp.Body, streamBuffer),
		options: options.wire(res),
	}, nil
}

// Next waits for the next frame. Its error is [io.EOF] if the server ended the stream
// regularly.
func (s *Stream) Next() (object.Frame, error) {
	whole := s.long[:0]
	for {
		line, err := s.reader.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return object.Frame{}, s.ended(err, len(whole)+len(bytes.TrimSpace(line)) > 0)
		}
		if err != nil || len(whole) > 0 {
			whole = append(whole, line...)
			s.long = whole
			if err != nil {
				continue
			}
			line = whole
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		frame, err := object.ParseFrame(line, s.options)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			// Servers that indent JSON use several lines for a frame.
			if len(whole) == 0 {
				whole = append(whole, line...)
				s.long = whole
			}
			continue
		}
		if cap(s.long) > keptBuffer {
			s.long = nil
		}
		return frame, err
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
