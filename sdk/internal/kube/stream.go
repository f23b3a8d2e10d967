package kube

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// streamBuffer is what is read from the network at once. Longer frames are gathered in
// a buffer of their own.
const streamBuffer = 16 << 10

// keptBuffer is how much of that buffer is kept for the next long frame.
const keptBuffer = 1 << 20

// Stream is a sequence of changes. Only Close may be called while Next goes on.
type Stream struct {
	body    io.ReadCloser
	cancel  context.CancelCauseFunc
	ctx     context.Context
	reader  *bufio.Reader
	long    []byte
	options object.ParseOptions
}

// ErrClosed is the error of a stream that its reader has closed.
var ErrClosed = errors.New("the stream is closed")

// Watch opens a stream of changes in a namespace, or in the cluster if the namespace is
// empty. The context governs the stream's whole life. Opening is not retried: those who
// watch have to begin anew anyway, and know from where.
func (c *Client) Watch(ctx context.Context, res *resources.Resource, namespace string, options ListOptions) (*Stream, error) {
	r, err := about(http.MethodGet, res, namespace, "", "", options.query(true))
	if err != nil {
		return nil, err
	}
	r.stream = true
	var stream *Stream
	err = c.authenticated(ctx, r, func(session *Session) (int, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		if limit := c.options.StreamTimeout; limit > 0 {
			timer := time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
			defer timer.Stop()
		}
		resp, err := c.send(ctx, session, r)
		if err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			cancel(nil)
			return 0, networkError(r, err)
		}
		if err := failure(r, resp); err != nil {
			cancel(nil)
			_ = resp.Body.Close() // its content is in the error
			return resp.StatusCode, err
		}
		stream = &Stream{
			body: resp.Body, cancel: cancel, ctx: ctx,
			reader:  bufio.NewReaderSize(resp.Body, streamBuffer),
			options: options.wire(res),
		}
		return resp.StatusCode, nil
	})
	return stream, err
}

// Next waits for the next frame. The end of the stream is io.EOF if it was a proper one.
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
			// A server that writes pretty JSON has several lines a frame.
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

func (s *Stream) ended(err error, halfway bool) error {
	if cause := context.Cause(s.ctx); cause != nil {
		return cause
	}
	if errors.Is(err, io.EOF) && halfway {
		err = io.ErrUnexpectedEOF
	}
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("watch stream: %w", err)
}

// Close ends the stream and interrupts Next with [ErrClosed].
func (s *Stream) Close() { s.CloseWith(ErrClosed) }

// CloseWith ends the stream and interrupts Next with an error.
func (s *Stream) CloseWith(err error) {
	s.cancel(err)
	_ = s.body.Close() // the connection is given up, whatever state it is in
}
