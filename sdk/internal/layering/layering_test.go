// Package layering compares the packages that an operator links in, and the imports within the
// engine, with lists in testdata. A longer list is a decision: each dependency costs
// every operator's binary, its relinking after every save, and its go.sum.
package layering

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kopf-dev/kopf/sdk"

// public are the packages that operators and tools import.
var public = []string{module + "/kopf", module + "/kopf/election", module + "/kopf/lifecycle", module + "/kopf/logging", module + "/kopf/manifest", module + "/kopf/meter", module + "/kopf/owner", module + "/kopf/storage", module + "/webhook", module + "/inspect", module + "/kopftest", module + "/environ", module + "/peering", module + "/printable", module + "/uninstall"}

// edge are the packages with network and disk behind them; decisions are made elsewhere.
var edge = []string{"kube", "watch", "queue", "observe", "testcluster"}

func TestOperator_LinksOnlyListedModules(t *testing.T) {
	list := allowed(t, "modules.txt")
	for _, path := range modulesOf(t, public...) {
		if path != module && !slices.Contains(list, path) {
			t.Errorf("%s is not in testdata/modules.txt; see who needs it: go mod why -m %s", path, path)
		}
	}
}

func TestOperator_LinksOnlyListedPackagesOfClientGo(t *testing.T) {
	list := allowed(t, "client-go.txt")
	for _, path := range linked(t, public...) {
		if strings.HasPrefix(path, "k8s.io/client-go/") && !slices.Contains(list, strings.TrimPrefix(path, "k8s.io/client-go/")) {
			t.Errorf("%s is not in testdata/client-go.txt; many packages of client-go pull in all types of the API", path)
		}
	}
}

// TestOperator_LinksManifestsOnlyWithTheirPackage keeps the YAML of manifests out of all other operators. The library itself is in
// every operator, since apimachinery's serializers use it.
func TestOperator_LinksManifestsOnlyWithTheirPackage(t *testing.T) {
	const yaml, renderer = "sigs.k8s.io/yaml", module + "/internal/manifests"
	for _, path := range public {
		all := linked(t, path)
		if manifests := slices.Contains(all, renderer); manifests != (path == module+"/kopf/manifest") {
			t.Errorf("%s links %s: %t", path, renderer, manifests)
		}
		for _, importer := range all {
			if strings.HasPrefix(importer, module) && importer != renderer && importer != module+"/kopftest" && slices.Contains(packageAt(t, importer).Imports, yaml) {
				t.Errorf("%s imports %s, which only %s does", importer, yaml, renderer)
			}
		}
	}
}

// TestOperator_LinksOnlyPartsThatItsHandlersNeed looks at the symbols of a program: the packages are imported, but the linker
// leaves out all but the initialization of a few variables.
func TestOperator_LinksOnlyPartsThatItsHandlersNeed(t *testing.T) {
	if testing.Short() {
		t.Skip("links an operator; run the test without -short, as make test does")
	}
	symbols, err := exec.Command("go", "tool", "nm", minimalOperator(t)).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(symbols)) {
		fields := strings.Fields(line)
		name := fields[len(fields)-1]
		for prefix, handlers := range map[string]string{
			"/internal/engine/reconcile.":           "reconcile",
			"/internal/engine/reasons.":             "reconcile",
			"/internal/engine/shown.":               "reconcile",
			"/internal/children.":                   "reconcile",
			"/internal/engine/reviews.(*Reviews).":  "admission",
			"/internal/engine/reviews.(*webhooks).": "admission",
			"/webhook.(*Server).":                   "admission",
		} {
			if inside, ok := strings.CutPrefix(name, module+prefix); ok && fields[len(fields)-2] == "T" && inside != "init" {
				t.Errorf("%s is linked, although no %s handler is registered", name, handlers)
			}
		}
	}
}

// TestOperator_MinimalBinaryIsBelow15MB holds the size that docs/when-to-use.md promises. It builds as kopf build does, so that the
// size does not depend on the folder of the checkout. If it fails, compare the sizes of the
// symbols with those before the change (go tool nm -size -sort size). Two causes were found before: code that only some operators
// need, and [slices.SortFunc] of structs, which the compiler compiles for each type, with up to 25 KB.
func TestOperator_MinimalBinaryIsBelow15MB(t *testing.T) {
	if runtime.GOOS+"/"+runtime.GOARCH != "linux/amd64" {
		t.Skipf("docs/when-to-use.md promises the size for linux/amd64 only, and this is %s/%s; run the test on linux/amd64", runtime.GOOS, runtime.GOARCH)
	}
	if testing.Short() {
		t.Skip("links an operator; run the test without -short, as make test does")
	}
	t.Setenv("CGO_ENABLED", "0")
	info, err := os.Stat(minimalOperator(t, "-trimpath", "-ldflags=-s -w"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() >= 15_000_000 {
		t.Errorf("the minimal operator has %d bytes", info.Size())
	}
}

// minimalOperator builds an operator with a single handler, for created objects.
func minimalOperator(t *testing.T, flags ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "minimal")
	if out, err := exec.Command("go", append(append([]string{"build"}, flags...), "-o", path, "./testdata/minimal")...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// TestSDK_DoesNotRequireAPITypes checks the SDK's go.mod, whose modules are in the go.sum of all operators.
func TestSDK_DoesNotRequireAPITypes(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if path := strings.Fields(line); len(path) > 0 && path[0] == "k8s.io/api" {
			t.Error("the SDK requires k8s.io/api, which only operators with leader election should; run: go mod why -m k8s.io/api")
		}
	}
}

func TestLeaderElection_IsModuleOfItsOwn(t *testing.T) {
	if of := packageAt(t, module+"/leaderelection").Module; of == nil || of.Path != module+"/leaderelection" {
		t.Errorf("sdk/leaderelection is in the module %+v", of)
	}
}

// TestSDK_DoesNotRequirePrometheus checks the modules that all operators have in their go.sum.
func TestSDK_DoesNotRequirePrometheus(t *testing.T) {
	t.Setenv("GOWORK", "off") // other modules of the workspace require more
	out, err := goList("-m", "all")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		path, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(path, "github.com/prometheus/") || strings.HasPrefix(path, module+"/") {
			t.Errorf("the SDK requires %s, which only operators with metrics should", path)
		}
	}
}

func TestMetrics_LinksOnlyListedModules(t *testing.T) {
	list := append(allowed(t, "modules.txt"), allowed(t, "metrics.txt")...)
	modules := modulesOf(t, module+"/metrics")
	if !slices.Contains(modules, module+"/metrics") {
		t.Error("sdk/metrics is not a module of its own")
	}
	for _, path := range modules {
		if path != module && path != module+"/metrics" && !slices.Contains(list, path) {
			t.Errorf("%s is not in testdata/metrics.txt", path)
		}
	}
}

func TestInspect_ImportsOnlyTheStandardLibrary(t *testing.T) {
	for _, path := range linked(t, module+"/inspect") {
		first, _, _ := strings.Cut(path, "/")
		if strings.Contains(first, ".") && !strings.HasPrefix(path, module) {
			t.Errorf("%s", path)
		}
	}
}

func TestPurePackages_PerformNoIO(t *testing.T) {
	for _, name := range allowed(t, "pure.txt") {
		for _, path := range linked(t, module+"/internal/"+name) {
			switch part, mine := strings.CutPrefix(path, module+"/internal/"); {
			case mine && slices.Contains(edge, part):
				t.Errorf("%s uses %s, which has the network behind it", name, part)
			case strings.HasPrefix(path, "k8s.io/client-go"):
				t.Errorf("%s uses %s", name, path)
			}
		}
	}
}

// layers reads the packages of testdata/layers.txt with the number of the line each stands in.
func layers(t *testing.T) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "layers.txt"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "#")
		for _, name := range strings.Fields(line) {
			all[name] = i
		}
	}
	return all
}

func TestEngine_ImportsOnlyLowerLayers(t *testing.T) {
	const internal = module + "/internal/"
	all := layers(t)
	for name, layer := range all {
		for _, path := range packageAt(t, internal+name).Imports {
			imported, mine := strings.CutPrefix(path, internal)
			if !mine {
				if strings.HasPrefix(path, module+"/kopf") {
					t.Errorf("%s imports %s, which is built on it", name, path)
				}
				continue
			}
			if lower, known := all[imported]; !known || lower >= layer {
				t.Errorf("%s imports %s, which testdata/layers.txt does not place below it", name, imported)
			}
		}
	}
}
