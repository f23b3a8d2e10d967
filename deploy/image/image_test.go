package image

import (
	"archive/tar"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var amd64, arm64 = Platform{"linux", "amd64"}, Platform{"linux", "arm64"}

// executables returns files in place of executables, one for each platform.
func executables(t *testing.T, bodies map[Platform]string) []Executable {
	t.Helper()
	var all []Executable
	for _, p := range []Platform{amd64, arm64} {
		body, ok := bodies[p]
		if !ok {
			continue
		}
		path := filepath.Join(t.TempDir(), "operator")
		if err := os.WriteFile(path, []byte(body), 0o755); err != nil {
			t.Fatal(err)
		}
		all = append(all, Executable{p, path})
	}
	return all
}

func newIndex(t *testing.T, bodies map[Platform]string) v1.ImageIndex {
	t.Helper()
	index, err := New(executables(t, bodies))
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// serve starts a registry and returns the name of an image there.
func serve(t *testing.T, wrap func(http.Handler) http.Handler) Reference {
	t.Helper()
	var h http.Handler = registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	if wrap != nil {
		h = wrap(h)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	r, err := ParseReference(strings.TrimPrefix(server.URL, "http://") + "/team/operator:v1")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPush_ImageRunsExecutableAsNobody(t *testing.T) {
	r := serve(t, nil)
	pushed, err := Push(t.Context(), r, newIndex(t, map[Platform]string{amd64: "for amd64", arm64: "for arm64"}))
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(pushed)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
	for platform, want := range map[Platform]string{amd64: "for amd64", arm64: "for arm64"} {
		image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: platform.OS, Architecture: platform.Arch}))
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; len(c.Entrypoint) != 1 || c.Entrypoint[0] != "/operator" || c.User != "65532:65532" || config.Architecture != platform.Arch {
			t.Errorf("%s: the configuration is %+v of %s", platform, c, config.Architecture)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatalf("%d layers (%v)", len(layers), err)
		}
		body, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		files := tar.NewReader(body)
		header, err := files.Next()
		if err != nil || header.Name != "operator" || header.Mode != 0o555 || header.Uid != 0 {
			t.Fatalf("the file is %+v (%v)", header, err)
		}
		if text, err := io.ReadAll(files); err != nil || string(text) != want {
			t.Errorf("%s: the executable is %q (%v)", platform, text, err)
		}
		if _, err := files.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("there are more files (%v)", err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNew_SameExecutableSameDigest(t *testing.T) {
	digest := func(body string) string {
		d, err := newIndex(t, map[Platform]string{amd64: body}).Digest()
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	if a, b := digest("one"), digest("one"); a != b {
		t.Errorf("%s and %s", a, b)
	}
	if digest("one") == digest("two") {
		t.Error("another executable has the same digest")
	}
}

func TestPush_RefusalSaysHowToLogIn(t *testing.T) {
	r := serve(t, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	})
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	_, err := Push(t.Context(), r, newIndex(t, map[Platform]string{amd64: "x"}))
	if err == nil || !strings.Contains(err.Error(), "docker login 127.0.0.1:") {
		t.Errorf("the error is %v", err)
	}
}

func TestPush_NoRegistryFails(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	r, err := ParseReference(strings.TrimPrefix(server.URL, "http://") + "/operator")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Push(t.Context(), r, newIndex(t, map[Platform]string{amd64: "x"})); err == nil || !strings.Contains(err.Error(), "push 127.0.0.1:") {
		t.Errorf("the error is %v", err)
	}
}

func TestParseReference_RefusesMalformedAndDigests(t *testing.T) {
	for _, text := range []string{"", "UPPER/case", "example.com/operator@sha256:" + strings.Repeat("0", 64)} {
		if r, err := ParseReference(text); err == nil {
			t.Errorf("%q is %s", text, r)
		}
	}
}

func TestWriteLayout_ReplacesImageOnly(t *testing.T) {
	r, err := ParseReference("example.com/operator:v1")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "new", "image")
	for _, body := range []string{"first", "second"} {
		index := newIndex(t, map[Platform]string{amd64: body})
		if err := WriteLayout(dir, r, index); err != nil {
			t.Fatal(err)
		}
		written, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(written); err != nil {
			t.Error(err)
		}
		manifest, err := written.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		want, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != want || manifest.Manifests[0].Annotations[refName] != "v1" {
			t.Errorf("the layout has %+v", manifest.Manifests)
		}
	}
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "thesis.txt"), []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteLayout(other, r, newIndex(t, map[Platform]string{amd64: "x"})); err == nil || !strings.Contains(err.Error(), "other files") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(filepath.Join(other, "thesis.txt")); err != nil {
		t.Error(err)
	}
}
