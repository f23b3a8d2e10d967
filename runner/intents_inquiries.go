package runner

import (
	"context"
	"fmt"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// Index returns a page of an index of the operator, as [inspect.Client.SearchIndex] does.
func (s *Session) Index(ctx context.Context, id, search string, offset, limit int) (*inspect.IndexPage, error) {
	return askIndex(ctx, s, id, search, offset, limit)
}

// Requests returns the operator's own requests to the API server.
func (s *Session) Requests(ctx context.Context) (*inspect.Requests, error) {
	return askRequests(ctx, s)
}

// Children returns the children of an object, as [inspect.Client.Children] does.
func (s *Session) Children(ctx context.Context, parent inspect.Ref) (*inspect.ChildList, error) {
	return askChildren(ctx, s, parent)
}

// Index returns a page of an index of the operator, as [inspect.Client.SearchIndex] does.
func (a *Attachment) Index(ctx context.Context, id, search string, offset, limit int) (*inspect.IndexPage, error) {
	return askIndex(ctx, a, id, search, offset, limit)
}

// Requests returns the operator's own requests to the API server.
func (a *Attachment) Requests(ctx context.Context) (*inspect.Requests, error) {
	return askRequests(ctx, a)
}

// Children returns the children of an object, as [inspect.Client.Children] does.
func (a *Attachment) Children(ctx context.Context, parent inspect.Ref) (*inspect.ChildList, error) {
	return askChildren(ctx, a, parent)
}

// connected is a [Session] or an [Attachment], which can connect to an operator.
type connected interface {
	// operatorClient returns the client of the operator; without an operator, the reason.
	operatorClient() (*inspect.Client, error)
}

func (s *Session) operatorClient() (*inspect.Client, error) {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	if client == nil {
		return nil, s.notRunning()
	}
	return client, nil
}

func (a *Attachment) operatorClient() (*inspect.Client, error) { return a.client, nil }

func askIndex(ctx context.Context, to connected, id, search string, offset, limit int) (*inspect.IndexPage, error) {
	client, err := to.operatorClient()
	if err != nil {
		return nil, err
	}
	page, err := client.SearchIndex(ctx, id, search, offset, limit)
	if err != nil {
		return nil, fmt.Errorf("ask the operator for the index %s: %w", id, err)
	}
	return page, nil
}

func askRequests(ctx context.Context, to connected) (*inspect.Requests, error) {
	client, err := to.operatorClient()
	if err != nil {
		return nil, err
	}
	requests, err := client.Requests(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask the operator for its requests: %w", err)
	}
	return requests, nil
}

func askChildren(ctx context.Context, to connected, parent inspect.Ref) (*inspect.ChildList, error) {
	client, err := to.operatorClient()
	if err != nil {
		return nil, err
	}
	list, err := client.Children(ctx, parent)
	if err != nil {
		return nil, fmt.Errorf("ask the operator for the children of %s: %w", parent.Name, err)
	}
	return list, nil
}
