package image

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// refName is the annotation with the tag of an image in a layout, as other tools read it.
const refName = "org.opencontainers.image.ref.name"

// layoutFile is in each folder in the layout of OCI.
const layoutFile = "oci-layout"

// unfinished begins the names of folders with images that are being written.
const unfinished = ".image-"

// layoutEntries are all files and folders of the layout. The index comes last, so that it never names missing files.
var layoutEntries = []string{layoutFile, "blobs", "index.json"}

// Reference is the name of an image in a registry.
type Reference struct{ name name.Reference }

// ParseReference parses the name of an image, such as "registry.example.com/operator:v1". A name without a
// registry is one of Docker Hub, and one without a tag has the tag "latest".
func ParseReference(text string) (Reference, error) {
	parsed, err := name.ParseReference(text)
	if err != nil {
		return Reference{}, fmt.Errorf("the image %q: %w", text, err)
	}
	if _, ok := parsed.(name.Digest); ok {
		return Reference{}, fmt.Errorf("the image %q has a digest, which a new image does not have yet; name a tag", text)
	}
	return Reference{parsed}, nil
}

// CheckReference returns an error unless the text is the name of an image, with or without a tag or a digest.
func CheckReference(text string) error {
	if _, err := name.ParseReference(text); err != nil {
		return fmt.Errorf("the image %q: %w", text, err)
	}
	return nil
}

// String returns the whole name, with the registry and the tag.
func (r Reference) String() string { return r.name.Name() }

// Push pushes an image to its registry, with the credentials of "docker login" or similar tools. It returns
// the name with the digest. Layers that the registry has are not sent again.
func Push(ctx context.Context, r Reference, image v1.ImageIndex) (string, error) {
	digest, err := image.Digest()
	if err != nil {
		return "", fmt.Errorf("push %s: %w", r, err)
	}
	if err := remote.WriteIndex(r.name, image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		return "", explainPush(r, err)
	}
	return r.name.Context().Digest(digest.String()).Name(), nil
}

// explainPush adds the next step to an error of a registry.
func explainPush(r Reference, err error) error {
	registry := r.name.Context().RegistryStr()
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		switch answer.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return fmt.Errorf("push %s: %w; log in with: docker login %s (or podman, or oras), and check that you may push there", r, err, registry)
		case http.StatusNotFound:
			return fmt.Errorf("push %s: %w; check the name, and create the repository if the registry does not", r, err)
		}
	}
	return fmt.Errorf("push %s: %w", r, err)
}

// WriteLayout writes an image to a folder in the layout of OCI, and replaces the one that is there. It
// refuses a folder with anything else.
func WriteLayout(dir string, r Reference, image v1.ImageIndex) (err error) {
	if err := checkLayout(dir); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write the image: %w", err)
		}
	}()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(dir, unfinished) // it must be on the same file system
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	path, err := layout.Write(tmp, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(image, layout.WithAnnotations(map[string]string{refName: r.name.Identifier()})); err != nil {
		return err
	}
	// The folder itself stays: it may be the working directory of a shell.
	for _, name := range layoutEntries {
		to := filepath.Join(dir, name)
		if err := errors.Join(os.RemoveAll(to), os.Rename(filepath.Join(tmp, name), to)); err != nil {
			return err
		}
	}
	return nil
}

// checkLayout refuses a folder that has something else than an image.
func checkLayout(dir string) error {
	entries, err := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), unfinished) // of a build that was killed, or of another one
	})
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, layoutFile)); err != nil {
		return fmt.Errorf("write the image to %s: the folder has other files; name a new one", dir)
	}
	return nil
}
