package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"golang.org/x/sys/unix"
)

// bare measures the bare client that sends the operator's requests, with the same watch open.
func (ld *load) bare(ctx context.Context, t handledState, n int) (u usage, err error) {
	cpu, err := ownCPU(unix.RUSAGE_SELF)
	if err != nil {
		return u, err
	}
	done := ld.completion.expect(n)
	began := time.Now()
	if err := ld.client.patchMany(ctx, ld.namespace, n, bareWorkers, t); err != nil {
		return u, err
	}
	select {
	case <-done:
	case <-time.After(waitLimit):
		return u, errors.New("the watch has not delivered all patches in time")
	case <-ctx.Done():
		return u, context.Cause(ctx)
	}
	u.took = time.Since(began)
	after, err := ownCPU(unix.RUSAGE_SELF)
	u.cpu = after - cpu
	return u, err
}

// bareWorkers is the number of concurrent requests of the bare client. More do not make the
// server faster.
const bareWorkers = 32

// handledState has the operator's additions to an object, and the patches that add them.
type handledState struct {
	annotations   map[string]string
	patch, status []byte
}

// readHandledState reads the state that the operator has added to a handled object.
func (a *api) readHandledState(ctx context.Context, namespace, name string) (handledState, error) {
	text, err := a.do(ctx, http.MethodGet, objects(namespace, name), "", nil)
	if err != nil {
		return handledState{}, err
	}
	var object struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Status json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return handledState{}, fmt.Errorf("read %s: %w", name, err)
	}
	t := handledState{annotations: object.Metadata.Annotations}
	delete(t.annotations, "someannotation")
	t.patch, err = json.Marshal(map[string]any{"metadata": map[string]any{"annotations": t.annotations}})
	if err != nil {
		return t, err
	}
	t.status = fmt.Appendf(nil, `{"status":%s}`, object.Status)
	return t, nil
}

// patchMany sends the requests that the operator sends for n objects, as fast as possible with
// this number of workers.
func (a *api) patchMany(ctx context.Context, namespace string, n, workers int, t handledState) error {
	return parallel(n, workers, func(i int) error {
		return a.patchHandled(ctx, objects(namespace, numbered(i)), t)
	})
}

// patchHandled sends the requests that the operator sends for an object.
func (a *api) patchHandled(ctx context.Context, path string, t handledState) error {
	if _, err := a.do(ctx, http.MethodPatch, path, mergePatch, t.patch); err != nil {
		return err
	}
	_, err := a.do(ctx, http.MethodPatch, path+"/status", mergePatch, t.status)
	return err
}
