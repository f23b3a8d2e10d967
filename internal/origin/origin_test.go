package origin

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

func TestCheckout_FoundByModulePath(t *testing.T) {
	root := t.TempDir()
	for dir, module := range map[string]string{"": "example.com/x", "kopf": Module} {
		path := filepath.Join(root, dir, "bin")
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, dir, "go.mod"), []byte("module "+module+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := above(filepath.Join(root, "kopf", "bin", "kopf")); got != filepath.Join(root, "kopf") {
		t.Errorf("the checkout is %q", got)
	}
	if got := above(filepath.Join(root, "bin", "kopf")); got != "" {
		t.Errorf("the checkout is %q", got)
	}
}

func TestCheckout_OfThisSource(t *testing.T) {
	want, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if got := Checkout("/nowhere/kopf"); got != want {
		t.Errorf("the checkout is %q, want %q", got, want)
	}
}

func TestVersion_IgnoresLocalBuilds(t *testing.T) {
	main := func(path, version string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Path: path, Version: version}}
	}
	dependency := main("example.com/other", "v9.0.0")
	dependency.Deps = []*debug.Module{{Path: Module, Version: "v0.3.0"}}
	replaced := main("example.com/other", "v9.0.0")
	replaced.Deps = []*debug.Module{{Path: Module, Version: "v0.3.0", Replace: &debug.Module{Path: "../kopf"}}}
	for _, test := range []struct {
		title string
		info  *debug.BuildInfo
		want  string
	}{
		{"a release", main(Module, "v0.2.0"), "v0.2.0"},
		{"a local build", main(Module, "(devel)"), ""},
		{"a local build with changes", main(Module, "v0.2.1-0.20260101000000-abcdef123456+dirty"), ""},
		{"a dependency of another program", dependency, "v0.3.0"},
		{"a replaced dependency", replaced, ""},
	} {
		if got := released(test.info, true); got != test.want {
			t.Errorf("%s: %q", test.title, got)
		}
	}
}
