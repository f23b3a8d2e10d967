package controllers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/component-base/featuregate"
)

// upstreamSource has the controllers of the kube-controller-manager, read from its source:
// importing it would compile the controllers that this package leaves out.
type upstreamSource struct {
	names map[string]string   // the values of the constants in package names
	gates map[string][]string // the features that a controller requires
	off   map[string]bool     // disabled by default
}

func readUpstream(t *testing.T) upstreamSource {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	cmd.Env = append(cmd.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "cmd", "kube-controller-manager")
	u := upstreamSource{names: map[string]string{}, gates: map[string][]string{}, off: map[string]bool{}}
	for _, spec := range declared[*ast.ValueSpec](t, filepath.Join(dir, "names")) {
		for n, v := range spec.Values {
			literal, ok := v.(*ast.BasicLit)
			if !ok {
				t.Fatalf("the name %s is no literal: upstream's source has another form", spec.Names[n].Name)
			}
			if u.names[spec.Names[n].Name], err = strconv.Unquote(literal.Value); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, l := range declared[*ast.CompositeLit](t, filepath.Join(dir, "app")) {
		if id, ok := l.Type.(*ast.Ident); !ok || id.Name != "ControllerDescriptor" {
			continue
		}
		var name string
		var gates []string
		var off bool
		for _, e := range l.Elts {
			kv := e.(*ast.KeyValueExpr)
			switch kv.Key.(*ast.Ident).Name {
			case "name":
				name = u.names[kv.Value.(*ast.SelectorExpr).Sel.Name]
			case "requiredFeatureGates":
				for _, g := range kv.Value.(*ast.CompositeLit).Elts {
					gates = append(gates, g.(*ast.SelectorExpr).Sel.Name)
				}
			case "isDisabledByDefault":
				off = kv.Value.(*ast.Ident).Name == "true"
			}
		}
		u.gates[name], u.off[name] = gates, off
	}
	return u
}

// declared returns all nodes of a type in the files of a package, without its tests.
func declared[N ast.Node](t *testing.T, dir string) []N {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no source in %s (%v)", dir, err)
	}
	var found []N
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if n, ok := n.(N); ok {
				found = append(found, n)
			}
			return true
		})
	}
	return found
}

func TestControllers_ThoseOfUpstream(t *testing.T) {
	u := readUpstream(t)
	if len(u.names) < 40 || len(u.gates) != len(u.names) {
		t.Fatalf("upstream has %d names and %d controllers: its source has another form", len(u.names), len(u.gates))
	}
	known := map[string]bool{}
	for _, c := range controllers() {
		if known[c.name] {
			t.Errorf("%s is listed twice", c.name)
		}
		known[c.name] = true
		if _, ok := u.gates[c.name]; !ok {
			t.Errorf("upstream has no controller %s", c.name)
		}
		if u.off[c.name] {
			t.Errorf("upstream disables %s by default", c.name)
		}
		var gates []string
		for _, g := range c.gates {
			gates = append(gates, string(g))
		}
		if !slices.Equal(gates, u.gates[c.name]) {
			t.Errorf("%s requires %v, upstream requires %v", c.name, gates, u.gates[c.name])
		}
	}
	for name, why := range unwanted {
		if known[name] || why == "" {
			t.Errorf("%s is both listed and unwanted, or without a reason (%q)", name, why)
		}
		known[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(u.gates)) {
		if !known[name] {
			t.Errorf("upstream's %s neither runs here nor is unwanted", name)
		}
	}
	for name := range unwanted {
		if _, ok := u.gates[name]; !ok {
			t.Errorf("upstream has no controller %s, which is unwanted", name)
		}
	}
}

func TestController_NeedsAllOfItsFeatures(t *testing.T) {
	c := controller{gates: []featuregate.Feature{"One", "Two"}}
	on := func(enabled ...featuregate.Feature) bool {
		return c.enabled(func(f featuregate.Feature) bool { return slices.Contains(enabled, f) })
	}
	if on() || on("One") || on("Two") || !on("One", "Two") {
		t.Error("it is enabled without one of its features, or disabled with both")
	}
	if !(controller{}).enabled(func(featuregate.Feature) bool { return false }) {
		t.Error("one that needs no feature is disabled")
	}
}
