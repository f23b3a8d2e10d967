package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestServer_NamesChildrenThatAreNotReady(t *testing.T) {
	state := running()
	a, b := state.Snapshot.Objects[0], state.Snapshot.Objects[1]
	a.Pass = &inspect.Pass{Outcome: inspect.PassWaiting, Message: "Deployment shop is not ready"}
	child := func(parent inspect.Ref, kind, name string, state inspect.ChildState, change func(*inspect.Child)) inspect.Child {
		c := inspect.Child{Parent: parent, KindRef: inspect.KindRef{Kind: kind, Ref: inspect.Ref{Namespace: "one", Name: name}}, State: state}
		if change != nil {
			change(&c)
		}
		return c
	}
	ofA := []inspect.Child{
		child(a.Ref, "ConfigMap", "shop", inspect.ChildReady, nil),
		child(a.Ref, "Deployment", "shop", inspect.ChildProgressing, func(c *inspect.Child) { c.Message = "1 of 3 replicas are ready" }),
		child(a.Ref, "Ingress", "shop", "", func(c *inspect.Child) { c.Result, c.Error = inspect.ResultRefused, "the name is in use" }),
		child(a.Ref, "Ingress", "old", "", func(c *inspect.Child) { c.Result = inspect.ResultPruned }),
	}
	session, source := connect(t, state, nil)
	source.children = func(parent inspect.Ref) (*inspect.ChildList, error) {
		switch parent {
		case a.Ref:
			return &inspect.ChildList{Children: ofA, Omitted: 7}, nil
		case inspect.Ref{}:
			orphan := child(inspect.Ref{Resource: a.Resource, UID: "gone"}, "ConfigMap", "lost", inspect.ChildTerminating, nil)
			return &inspect.ChildList{Children: append(append(ofA, orphan), child(b.Ref, "Job", "b", inspect.ChildFailed, nil))}, nil
		}
		return nil, fmt.Errorf("read the children: %w", &inspect.UnsupportedError{Path: inspect.ChildrenPath})
	}
	read := func(arguments map[string]any) (out Children, lines []string) {
		t.Helper()
		text, failed := ask(t, session, "children", arguments)
		if err := json.Unmarshal([]byte(text), &out); err != nil || failed {
			t.Fatalf("%v: %v, %s", arguments, err, text)
		}
		for _, c := range out.Children {
			lines = append(lines, strings.Join([]string{c.Parent, c.Kind, c.Name, c.State, c.Why}, "; "))
		}
		return out, lines
	}
	progressing := "KopfExample one/a; Deployment; shop; progressing; 1 of 3 replicas are ready"
	refused := "KopfExample one/a; Ingress; shop; refused; the name is in use"
	for _, test := range []struct {
		arguments map[string]any
		want      []string
		total     int
	}{
		{map[string]any{"kind": "kex", "name": "a", "namespace": "one", "not_ready": true}, []string{progressing, refused}, 2},
		{map[string]any{"kind": "kex", "name": "a", "namespace": "one", "limit": 1}, []string{"KopfExample one/a; ConfigMap; shop; ready; "}, 4},
		{map[string]any{"not_ready": true}, []string{progressing, refused, "; ConfigMap; lost; terminating; ", "KopfExample two/a; Job; b; failed; "}, 4},
		{map[string]any{"kind": "KopfExample", "namespace": "two"}, []string{"KopfExample two/a; Job; b; failed; "}, 1},
		{map[string]any{"kind": "pods"}, nil, 0},
	} {
		out, lines := read(test.arguments)
		if diff := cmp.Diff(test.want, lines); diff != "" || out.Total != test.total {
			t.Errorf("%v: %d in all, %s", test.arguments, out.Total, diff)
		}
		if one := test.arguments["name"] != nil; one != (out.LastPass != nil && out.LastPass.Message == a.Pass.Message && out.Omitted == 7) {
			t.Errorf("%v: %+v", test.arguments, out)
		}
	}
	for want, arguments := range map[string]map[string]any{
		"which object? give its kind":               {"name": "a"},
		"the operator does not know kex/none":       {"kind": "kex", "name": "none"},
		"an earlier release, which does not report": {"kind": "kex", "name": "a", "namespace": "two"},
	} {
		if text, failed := ask(t, session, "children", arguments); !failed || !strings.Contains(text, want) {
			t.Errorf("%v: %s", arguments, text)
		}
	}
	source.children = func(inspect.Ref) (*inspect.ChildList, error) { return nil, errors.New("the operator is not running") }
	if text, failed := ask(t, session, "children", nil); !failed || text != "the operator is not running" {
		t.Error(text)
	}
}
