package kube

import (
	"context"
	"io"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/internal/fence"
)

// fencedBody is the body of a writing request. The transport reads a body right before sending. A process that was frozen
// between RoundTrip and that moment sends an incomplete request, and the API server refuses it.
type fencedBody struct {
	io.ReadCloser
	ctx context.Context
}

// Read implements [io.Reader]. It returns [fence.ErrLapsed] once the fence has lapsed.
func (b fencedBody) Read(p []byte) (int, error) {
	if err := fence.MayWrite(b.ctx); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}

// fenceBody returns a request whose body is fenced.
func fenceBody(req *http.Request) *http.Request {
	if req.Body == nil || req.Body == http.NoBody {
		return req
	}
	ctx, again := req.Context(), req.GetBody
	fenced := *req
	fenced.Body = fencedBody{req.Body, ctx}
	if again != nil {
		fenced.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return fencedBody{body, ctx}, err
		}
	}
	return &fenced
}
