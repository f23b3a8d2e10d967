package k3d

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/client"
	k3dtypes "github.com/k3d-io/k3d/v5/pkg/types"
	"github.com/k3d-io/k3d/v5/version"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// imageVariable names the environment variable with the image of K3s, for mirrors. Without a tag,
// it gets the version of K3s as its tag.
const imageVariable = "KOPF_K3S_IMAGE"

// registryVariable names the environment variable with the image of the registry.
const registryVariable = "KOPF_REGISTRY_IMAGE"

// nodeImage returns the image of K3s for a version, which may be empty.
func nodeImage(k3sVersion string) (string, error) {
	// A tag cannot have the plus sign of K3s' versions.
	tag := strings.ReplaceAll(cmp.Or(k3sVersion, version.K3sVersion), "+", "-")
	if strings.ContainsAny(tag, "/:@ ") {
		return "", &fault.Error{
			Kind: fault.ErrInvalid, Message: fmt.Sprintf("invalid version of K3s %q", k3sVersion),
			Next: "use one such as v1.32.5-k3s1; name an image of your own with " + imageVariable,
		}
	}
	repository := cmp.Or(os.Getenv(imageVariable), k3dtypes.DefaultK3sImageRepo)
	tagged := strings.Contains(repository[strings.LastIndex(repository, "/")+1:], ":")
	switch {
	case !tagged:
		return repository + ":" + tag, nil
	case k3sVersion == "":
		return repository, nil
	default:
		return repository[:strings.LastIndex(repository, ":")+1] + tag, nil
	}
}

// registryImage returns the image of the registry.
func registryImage() string {
	return cmp.Or(os.Getenv(registryVariable), k3dtypes.DefaultRegistryImageRepo+":"+k3dtypes.DefaultRegistryImageTag)
}

// ensureImage pulls an image unless the engine has it. (The k3d library would pull it without progress reports, and
// again and again if the pull fails midway.)
func (e *engine) ensureImage(ctx context.Context, name string, s *steps) error {
	_, err := e.ImageInspect(ctx, name)
	if err == nil || !cerrdefs.IsNotFound(err) {
		return err
	}
	s.begin(devcluster.PhasePull, "pulling the image %s", name)
	stream, err := e.ImagePull(ctx, name, image.PullOptions{})
	if err != nil {
		return e.pullError(ctx, name, err)
	}
	defer func() { _ = stream.Close() }() // only read
	if err := pullProgress(stream, s.count); err != nil {
		return e.pullError(ctx, name, err)
	}
	return nil
}

// pullError explains a failed pull.
func (e *engine) pullError(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if text := err.Error(); strings.Contains(text, "no space left") || client.IsErrConnectionFailed(err) {
		return err
	}
	return imageMissing(name, err)
}

// pullProgress reads the progress of a pull until its end. It reports the sums of all layers in
// megabytes.
func pullProgress(stream io.Reader, count func(done, total int)) error {
	type layer struct{ done, total int64 }
	layers := make(map[string]layer)
	decoder := json.NewDecoder(stream)
	for {
		var m struct {
			ID             string `json:"id"`
			Status         string `json:"status"`
			Error          string `json:"error"`
			ProgressDetail struct {
				Current int64 `json:"current"`
				Total   int64 `json:"total"`
			} `json:"progressDetail"`
		}
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the progress of the pull: %w", err)
		}
		if m.Error != "" {
			return errors.New(m.Error)
		}
		l, known := layers[m.ID]
		switch {
		case m.Status == "Downloading" && m.ProgressDetail.Total > 0:
			l = layer{m.ProgressDetail.Current, m.ProgressDetail.Total}
		case m.Status == "Download complete" && known:
			l.done = l.total
		default:
			continue
		}
		layers[m.ID] = l
		var sum layer
		for _, l := range layers {
			sum.done += l.done
			sum.total += l.total
		}
		const megabyte = 1 << 20
		count(int(sum.done/megabyte), int((sum.total+megabyte-1)/megabyte))
	}
}
