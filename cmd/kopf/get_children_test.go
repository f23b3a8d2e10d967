package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/listing"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestGetChildren_ListsAndRefuses(t *testing.T) {
	a, full := kex("one", "a", inspect.StateSettled), kex("two", "full", inspect.StateSettled)
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), a, full)
	child := func(parent inspect.Ref, name string) inspect.Child {
		return inspect.Child{Parent: parent, State: inspect.ChildReady, KindRef: inspect.KindRef{Kind: "ConfigMap", Ref: inspect.Ref{Namespace: "one", Name: name}}}
	}
	op.children = func(parent inspect.Ref) inspect.ChildList {
		switch parent {
		case a.Ref:
			return inspect.ChildList{Children: []inspect.Child{child(a.Ref, "kept")}}
		case inspect.Ref{}:
			list := inspect.ChildList{Omitted: 1, Children: []inspect.Child{child(inspect.Ref{Resource: a.Resource, UID: "x"}, "lost"), child(a.Ref, "kept")}}
			for i := range inspect.MaxChildren {
				list.Children = append(list.Children, child(full.Ref, fmt.Sprint("c", i)))
			}
			return list
		}
		return inspect.ChildList{}
	}
	const header = "PARENT          KIND        NAMESPACE   NAME   STATE   SINCE   DETAIL\n"
	const kept = header + "KopfExample/a   ConfigMap   one         kept   ready\n"
	orphan := strings.ReplaceAll(header, "PARENT       ", "PARENT") + "–        ConfigMap   one         lost   ready\n"
	for line, test := range map[string]struct {
		output string
		code   int
	}{
		"kex/a":                 {kept, 0},
		"kex":                   {"PARENT ", 0},
		"-n one":                {strings.ReplaceAll(kept, header, header+"–               ConfigMap   one         lost   ready\n"), 0},
		"--orphans":             {orphan, 0},
		"kex --orphans":         {orphan, 0},
		"kex/full":              {"kopf: no children\n", 0},
		"kex/full -o json":      {"[]\n", 0},
		"kex/none":              {"kopf: operator 4711 at unix:", 1},
		"kexes":                 {"kopf: the operator has no resource \"kexes\"; did you mean kex", 2},
		"kex/a --orphans":       {"kopf: kex/a: --orphans excludes an object", 2},
		"kex/a --watch":         {"kopf: --watch excludes children", 2},
		"kex/a --state=settled": {"kopf: --state is for objects; children are chosen by their object\n", 2},
	} {
		if output, code := getOutput(t, op, "children "+line); code != test.code || !strings.HasPrefix(output, test.output) {
			t.Errorf("%s: %d, %s", line, code, output)
		} else if left := strings.Contains(output, "some children are left out"); left != (line == "kex") {
			t.Errorf("%s: %s", line, output)
		}
	}
	if output, code := getOutput(t, op, "resources --orphans"); code != 2 || !strings.Contains(output, "kopf get children --orphans") {
		t.Errorf("%d, %s", code, output)
	}
}

func TestGet_ObjectsWithTheirChildren(t *testing.T) {
	a, b, plain := kex("one", "a", inspect.StateFailed), kex("one", "b", inspect.StateSettled), kex("one", "plain", inspect.StateFailed)
	a.Children, b.Children = &inspect.ChildCounts{Ready: 1, Total: 2}, &inspect.ChildCounts{}
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), a, b, plain)
	child := func(name string, state inspect.ChildState) inspect.Child {
		return inspect.Child{Parent: a.Ref, State: state, KindRef: inspect.KindRef{Kind: "ConfigMap", Ref: inspect.Ref{Namespace: "one", Name: name}}}
	}
	answers := map[inspect.Ref]inspect.ChildList{
		a.Ref: {Children: []inspect.Child{child("ready", inspect.ChildReady), child("late", inspect.ChildFailed)}},
		{}:    {Children: []inspect.Child{{Parent: inspect.Ref{Resource: a.Resource, UID: "x"}}, child("late", inspect.ChildFailed)}},
	}
	read := func(line string) map[string]listing.Object {
		t.Helper()
		output, code := getOutput(t, op, line)
		var objects []listing.Object
		if err := json.Unmarshal([]byte(output), &objects); err != nil || code != 0 {
			t.Fatalf("%s: %d, %v: %s", line, code, err, output)
		}
		byName := map[string]listing.Object{}
		for _, o := range objects {
			byName[o.Name] = o
		}
		return byName
	}
	if o := read("kex/a -o json")["a"]; o.Children.Total != 2 || o.Children.Items != nil {
		t.Errorf("of an earlier release: %+v", o.Children)
	}
	op.children = func(parent inspect.Ref) inspect.ChildList { return answers[parent] }
	if o := read("kex/a -o json")["a"]; o.Children.ChildCounts != *a.Children || !cmp.Equal(o.Children.Items, answers[a.Ref].Children) {
		t.Errorf("of one object: %+v", o.Children)
	}
	if all := read("-o json"); len(all) != 3 || len(all["a"].Children.Items) != 1 || all["b"].Children.Items == nil || all["plain"].Children != nil {
		t.Errorf("of all objects: %+v", all)
	}
	if o := read("--state=failed -o json")["a"]; len(o.Children.Items) != 1 {
		t.Errorf("of the failed objects: %+v", o.Children)
	}
	if output, code := getOutput(t, op, "kex/a -o yaml"); code != 0 || !strings.Contains(output, "    items:\n    - kind: ConfigMap\n") {
		t.Errorf("%d: %s", code, output)
	}
}

func TestGetChildren_OfEarlierRelease(t *testing.T) {
	op := serveInspector(t, filepath.Join(shortDir(t), "s"), kex("one", "a", inspect.StateSettled))
	output, code := getOutput(t, op, "children")
	if code != 1 || !strings.Contains(output, "earlier release, which does not report children; build it with") {
		t.Errorf("%d, %s", code, output)
	}
}

// getOutput runs kopf get, and returns the printed text.
func getOutput(t *testing.T, op *inspected, line string) (output string, code int) {
	t.Helper()
	var printed strings.Builder
	code = execute(t.Context(), append([]string{"get", "--inspect=" + op.address}, strings.Fields(line)...), &printed, &printed)
	return printed.String(), code
}
