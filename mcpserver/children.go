package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

type childrenIn struct {
	Kind      string `json:"kind,omitempty" jsonschema:"only the children of objects of this kind, plural or short name of a resource"`
	Name      string `json:"name,omitempty" jsonschema:"only the children of the object with this name"`
	Namespace string `json:"namespace,omitempty" jsonschema:"only the children of objects in this namespace"`
	NotReady  bool   `json:"not_ready,omitempty" jsonschema:"only the children that are not ready, or that the API server refused"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the maximal number of children (default 100)"`
}

// Children is the answer of the tool children.
type Children struct {
	Total    int         `json:"total"`             // number of selected children, also beyond the limit
	Omitted  int         `json:"omitted,omitempty"` // number of further children that the operator has left out: ready ones, of objects with very many children
	Children []ChildLine `json:"children"`
	LastPass *LastPass   `json:"lastPass,omitempty"` // last pass of the named object; absent without a name
}

// ChildLine sums up a child.
type ChildLine struct {
	Parent    string    `json:"parent,omitempty"` // kind and name of the object that has the child; absent if the operator does not know the object
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	State     string    `json:"state"` // state of the child; for a child that does not exist, the result of the last pass
	Since     time.Time `json:"since,omitzero"`
	Why       string    `json:"why,omitempty"` // reason for the state, refusal of the API server, and changes by others
	Result    string    `json:"result,omitempty"`
}

// LastPass sums up the last pass of an object's reconcile handler.
type LastPass struct {
	Outcome string    `json:"outcome"`
	Message string    `json:"message,omitempty"` // reason of the wait, or the error
	Ended   time.Time `json:"ended"`
	Until   time.Time `json:"until,omitzero"` // time of the next pass at the latest
}

func (s *Server) children(ctx context.Context, in childrenIn) (any, error) {
	if in.Name != "" && in.Kind == "" {
		return nil, errors.New("children: which object? give its kind, too")
	}
	state := s.state()
	var parent inspect.Ref // all objects
	out := Children{Children: []ChildLine{}}
	if in.Name != "" {
		o, err := find(state, objectName{in.Kind, in.Name, in.Namespace})
		if err != nil {
			return nil, err
		}
		parent = o.Ref
		if p := o.Pass; p != nil {
			out.LastPass = &LastPass{Outcome: string(p.Outcome), Message: p.Message, Ended: p.Ended, Until: p.Until}
		}
	} else if state.Snapshot == nil {
		return nil, errNoOperator
	}
	list, err := s.source.Children(ctx, parent)
	if _, ok := errors.AsType[*inspect.UnsupportedError](err); ok {
		return nil, errors.New("the operator is of an earlier release, which does not report children; build it with the release of this program")
	}
	if err != nil {
		return nil, err
	}
	out.Omitted = list.Omitted
	if in.Limit <= 0 {
		in.Limit = defaultLimit
	}
	chosen := list.Children
	if in.Name == "" {
		chosen = listing.SelectChildren(state.Snapshot, chosen, listing.Selection{Namespace: in.Namespace, Resource: in.Kind})
	}
	kinds := map[inspect.Ref]string{}
	for _, o := range state.Objects {
		kinds[o.Ref] = o.Kind
	}
	for _, c := range chosen {
		if in.NotReady && (c.State == inspect.ChildReady && c.Error == "" || c.State == "" && c.Result == inspect.ResultPruned) {
			continue
		}
		if out.Total++; out.Total > in.Limit {
			continue
		}
		line := ChildLine{
			Kind: c.Kind, Namespace: c.Namespace, Name: c.Name, State: explain.ChildWord(&c).Text, Since: c.Since, Why: explain.ChildDetail(&c), Result: string(c.Result),
		}
		if c.Parent.Name != "" {
			line.Parent = fmt.Sprintf("%s %s", kinds[c.Parent], explain.QualifiedName(c.Parent))
		}
		out.Children = append(out.Children, line)
	}
	return out, nil
}
