package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// program is the path of the executable in the image.
const program = "/operator"

// user is the user and the group of the process: an arbitrary number other than root's.
const user = "65532:65532"

// Platform is an operating system and an architecture, as Go names them.
type Platform struct{ OS, Arch string }

// String returns the platform as "linux/amd64".
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Executable is a static executable of an operator.
type Executable struct {
	Platform Platform
	Path     string
}

// New returns an image for several platforms. The same executables give the same image, since it has no
// dates.
func New(executables []Executable) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, e := range executables {
		image, err := newImage(e)
		if err != nil {
			return nil, fmt.Errorf("make the image for %s: %w", e.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        image,
			Descriptor: v1.Descriptor{MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: e.Platform.OS, Architecture: e.Platform.Arch}},
		})
	}
	return index, nil
}

func newImage(e Executable) (v1.Image, error) {
	layer, err := newLayer(e.Path)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{CreatedBy: "kopf build"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = e.Platform.OS, e.Platform.Arch
	config.Config.Entrypoint, config.Config.User, config.Config.WorkingDir = []string{program}, user, "/"
	return mutate.ConfigFile(image, config)
}

// newLayer returns a layer with the executable.
func newLayer(path string) (v1.Layer, error) {
	body, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	header := &tar.Header{Typeflag: tar.TypeReg, Name: program[1:], Mode: 0o555, Size: int64(len(body)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
	if err := w.WriteHeader(header); err != nil {
		return nil, err
	}
	if _, err := w.Write(body); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}
