// Package mcpserver serves a development session to programs over the Model Context Protocol, with the same
// information and actions as the workbench.
package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Source is a [runner.Session] or a [runner.Attachment] to serve.
type Source interface {
	// State returns the current state. It is never nil and never modified.
	State() *runner.State

	// Changes delivers a value soon after the state has changed, and is closed after the last change. The server
	// is its only reader.
	Changes() <-chan struct{}

	// Children returns the children of an object; for the zero Ref, of all objects.
	Children(ctx context.Context, parent inspect.Ref) (*inspect.ChildList, error)

	// Do carries out an intent.
	Do(ctx context.Context, intent runner.Intent) error
}

// Options configure a [Server].
type Options struct {
	// Version is the version of the program.
	Version string

	// MayAct returns why nothing may be changed at a moment, for example because the cluster is not one to develop
	// with. It returns nil if it may. It must not be nil.
	MayAct func(*runner.State) error
}

// Server serves one source. It is safe for concurrent use.
type Server struct {
	source  Source
	options Options

	mu       sync.Mutex
	changed  chan struct{} // closed at the next change
	progress runner.Progress
}

// New returns a server. [Server.Run] starts it.
func New(source Source, options Options) *Server {
	return &Server{source: source, options: options, changed: make(chan struct{})}
}

// instructions explain to a client how the tools belong together.
const instructions = `These tools show and control a Kubernetes operator that is being developed with Kopf.
The operator is rebuilt and restarted when its source files are saved. After an edit, call rebuild, then
wait_until_settled, which returns the errors of the build, the handlers that failed, and what is still pending.
Use why and why_not to learn why handlers were called for an object, or were not, and children to learn
which of the objects that a reconcile handler keeps are not ready. An operator that crashes is
started again; status and log tell why it crashed.`

// Run serves a transport until its other side closes it or the context ends, and returns nil in both cases.
func (s *Server) Run(ctx context.Context, transport mcp.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(ctx)
	}()
	defer func() {
		cancel()
		<-watched
	}()
	server := mcp.NewServer(
		&mcp.Implementation{Name: "kopf", Title: "Kopf for Go", Version: s.options.Version},
		&mcp.ServerOptions{Instructions: instructions},
	)
	s.addReading(server)
	s.addActing(server)
	err := server.Run(ctx, transport)
	if ctx.Err() != nil || err == nil {
		return nil
	}
	return fmt.Errorf("serve the Model Context Protocol: %w", err)
}

// watch follows the state, and wakes those who wait for it.
func (s *Server) watch(ctx context.Context) {
	for {
		s.mu.Lock()
		s.progress.Note(s.source.State())
		close(s.changed)
		s.changed = make(chan struct{})
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case _, more := <-s.source.Changes():
			if !more {
				return
			}
		}
	}
}

// wait waits until a condition of the state holds. It returns false when the time is over.
func (s *Server) wait(ctx context.Context, timeout time.Duration, holds func(*runner.State) bool) (bool, error) {
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if holds(s.source.State()) {
			return true, nil
		}
		select {
		case <-changed:
		case <-late.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
}

// state returns the published state with its objects sorted and counted.
func (s *Server) state() *explain.State { return explain.NewState(s.source.State(), nil) }

// add adds a tool that reads.
func add[In any](server *mcp.Server, name, description string, read func(context.Context, In) (any, error)) {
	addTool(server, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, read)
}

func addTool[In any](server *mcp.Server, tool *mcp.Tool, do func(context.Context, In) (any, error)) {
	mcp.AddTool(server, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		out, err := do(ctx, in)
		if err != nil {
			return nil, nil, errors.New(printable.Paragraph(err.Error()))
		}
		text, err := json.Marshal(out)
		if err != nil {
			return nil, nil, fmt.Errorf("encode the answer: %w", err)
		}
		// Clients show the JSON as it is.
		return nil, json.RawMessage(printable.JSON(text)), nil
	})
}
