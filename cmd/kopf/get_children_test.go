package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

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
