package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// serveRegistry starts a server and returns its address.
func serveRegistry(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// extracted returns the path of the executable of an image.
func extracted(t *testing.T, image v1.Image) string {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers (%v)", len(layers), err)
	}
	body, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	files := tar.NewReader(body)
	if _, err := files.Next(); err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(files)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "operator")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBuildImage_PushesAndPrintsDigest(t *testing.T) {
	dir := operatorTree(t, "os.Exit(7)")
	address := serveRegistry(t, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	cmd, stdout, stderr := command(t, dir, "build", ".", "--image="+address+"/team/op:v1", "--platform=linux/"+runtime.GOARCH)
	cmd.Env = append(cmd.Env, "DOCKER_CONFIG="+t.TempDir())
	if got := code(t, cmd.Run()); got != 0 {
		t.Fatalf("%d, %s", got, stderr)
	}
	reference, err := name.NewDigest(strings.TrimSuffix(stdout.String(), "\n"))
	if err != nil {
		t.Fatalf("%v: %s", err, stdout)
	}
	tagged, err := name.ParseReference(address + "/team/op:v1")
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tagged)
	if err != nil {
		t.Fatal(err)
	}
	if digest, err := index.Digest(); err != nil || digest.String() != reference.DigestStr() {
		t.Errorf("the tag is of %s (%v), and %s was printed", digest, err, reference)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	if runtime.GOOS != "linux" {
		return // the image is for Linux
	}
	image, err := remote.Image(reference, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	if err != nil {
		t.Fatal(err)
	}
	if got := code(t, exec.CommandContext(t.Context(), extracted(t, image)).Run()); got != 7 {
		t.Errorf("the program of the image exits with %d", got)
	}
}

func TestBuildImage_LayoutForTwoPlatformsIsReproducible(t *testing.T) {
	dir := operatorTree(t, "")
	digests := map[string]bool{}
	for range 2 {
		cmd, stdout, stderr := command(t, dir, "build", ".", "--image=registry.example.com/op:v1", "--layout=out", "--platform=linux/amd64,linux/arm64")
		if got := code(t, cmd.Run()); got != 0 || stdout.String() != "out\n" {
			t.Fatalf("%d, %s%s", got, stdout, stderr)
		}
		index, err := layout.ImageIndexFromPath(filepath.Join(dir, "out"))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(index); err != nil {
			t.Error(err)
		}
		manifest, err := index.IndexManifest()
		if err != nil || len(manifest.Manifests) != 1 {
			t.Fatalf("%+v (%v)", manifest, err)
		}
		digests[manifest.Manifests[0].Digest.String()] = true
		inner, err := index.ImageIndex(manifest.Manifests[0].Digest)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := inner.IndexManifest(); err != nil || len(m.Manifests) != 2 || m.Manifests[1].Platform.Architecture != "arm64" {
			t.Errorf("the platforms are %+v (%v)", m, err)
		}
	}
	if len(digests) != 1 {
		t.Errorf("two builds of the same code give %v", digests)
	}
}

func TestBuildImage_RegistryFailuresSayWhatToDo(t *testing.T) {
	dir := operatorTree(t, "")
	answers := func(status int) string {
		return serveRegistry(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	for _, test := range []struct{ address, want string }{
		{answers(http.StatusUnauthorized), "log in with: docker login 127.0.0.1:"},
		{answers(http.StatusForbidden), "check that you may push there"},
		{answers(http.StatusInternalServerError), "500 Internal Server Error"},
		{strings.TrimPrefix(gone.URL, "http://"), "connection refused"},
	} {
		cmd, stdout, stderr := command(t, dir, "build", ".", "--image="+test.address+"/op")
		cmd.Env = append(cmd.Env, "DOCKER_CONFIG="+t.TempDir())
		if got := code(t, cmd.Run()); got != 1 || stdout.Len() > 0 || !strings.Contains(stderr.String(), test.want) ||
			!strings.Contains(stderr.String(), fmt.Sprintf("kopf: push %s/op:latest: ", test.address)) {
			t.Errorf("want %q: %d, %s%s", test.want, got, stdout, stderr)
		}
	}
}

func TestBuildImage_InvalidFlags(t *testing.T) {
	dir := operatorTree(t, "")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--image=UPPER/case"}, "UPPER/case"},
		{[]string{"--image=op:v1:v2"}, "op:v1:v2"},
		{[]string{"--image=op@sha256:" + strings.Repeat("0", 64)}, "name a tag"},
		{[]string{"--image=op", "--platform=windows/amd64"}, "want one such as linux/amd64"},
		{[]string{"--image=op", "-o", "file"}, "use --layout"},
		{[]string{"--layout=out"}, "--layout needs --image"},
	} {
		cmd, _, stderr := command(t, dir, append([]string{"build", "."}, test.args...)...)
		if got := code(t, cmd.Run()); got != exitUsage || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%q: %d, %s", test.args, got, stderr)
		}
	}
	cmd, _, stderr := command(t, dir, "build", ".", "--image=op", "--layout=out", "--platform=linux/none")
	if got := code(t, cmd.Run()); got != 1 || !strings.Contains(stderr.String(), "linux/none") {
		t.Errorf("%d, %s", got, stderr)
	}
	if _, err := os.Stat(filepath.Join(dir, "out")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a failed build has left a folder (%v)", err)
	}
}
