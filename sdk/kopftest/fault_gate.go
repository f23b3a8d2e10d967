package kopftest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
)

// errKilled is the error of a killed operator's requests.
var errKilled = errors.New("the operator is killed")

// gate is between an operator and the cluster. When the gate is shut, no request of the operator reaches the cluster, as if
// the operator's process had ended.
type gate struct {
	ctx  context.Context
	shut context.CancelCauseFunc
}

func newGate() *gate {
	g := &gate{}
	g.ctx, g.shut = context.WithCancelCause(context.Background())
	return g
}

// wrap wraps the transport of a [rest.Config].
func (g *gate) wrap(next http.RoundTripper) http.RoundTripper { return &gatedTransport{g, next} }

type gatedTransport struct {
	gate *gate
	next http.RoundTripper
}

// RoundTrip sends a request. The request is cancelled when the gate is shut.
func (t *gatedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := context.Cause(t.gate.ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(t.gate.ctx, func() { cancel(errKilled) })
	resp, err := t.next.RoundTrip(r.WithContext(ctx))
	end := func() {
		stop()
		cancel(nil)
	}
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &gatedBody{ReadCloser: resp.Body, end: sync.OnceFunc(end)}
	return resp, nil
}

// WrappedRoundTripper returns the inner transport, so that client-go can close its idle connections.
func (t *gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// gatedBody ends the request with its response.
type gatedBody struct {
	io.ReadCloser
	end func()
}

// Close closes the body.
func (b *gatedBody) Close() error {
	err := b.ReadCloser.Close()
	b.end()
	return err
}
