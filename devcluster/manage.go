package devcluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// List returns the clusters that kopf manages, sorted by name, running or not. Ephemeral ones
// that have ended are none, although their data may have to be deleted yet.
func List(ctx context.Context) ([]Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return nil, err
	}
	all, err := list(ctx, e)
	return slices.DeleteFunc(all, Info.forgotten), err
}

// OfProject returns the cluster of a project, which is what commands use without a name. The
// error is [ErrNotFound] if the project has none.
func OfProject(ctx context.Context, project string) (Info, error) {
	known, err := List(ctx)
	if err != nil {
		return Info{}, err
	}
	if i := ofProject(project, known); i != nil {
		return *i, nil
	}
	return Info{}, &fault.Error{
		Kind: ErrNotFound, Message: fmt.Sprintf("the project %s has no cluster", project),
		Next: "create it with: kopf cluster create; or name one of: kopf cluster list",
	}
}

// Get returns one cluster that kopf manages. The error is [ErrNotFound] if there is none of
// that name.
func Get(ctx context.Context, name string) (Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return Info{}, err
	}
	return lookup(ctx, e, name)
}

func lookup(ctx context.Context, e embedded, name string) (Info, error) {
	i, err := e.get(ctx, name)
	if k3d == nil || !errors.Is(err, ErrNotFound) {
		return i, err
	}
	containers, failed := k3d.List(ctx)
	if failed != nil {
		return Info{}, failed
	}
	if i := find(containers, name); i != nil {
		return *i, nil
	}
	return Info{}, err
}

// Create creates a cluster and starts it detached. It uses the provider, the name, the project,
// Ephemeral, FeatureGates, K3d and Progress of the options. A cluster with a name is of no project. The
// error is [ErrExists] if the name is taken.
func Create(ctx context.Context, o Options) (Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return Info{}, err
	}
	if err := o.Check(); err != nil {
		return Info{}, err
	}
	provider, _, err := chooseProvider(o)
	if err != nil {
		return Info{}, err
	}
	if provider == Context {
		return Info{}, &fault.Error{
			Kind: ErrInvalid, Message: fmt.Sprintf("the provider %s cannot create clusters", provider),
			Next: "use the provider embedded or k3d",
		}
	}
	all, err := sweep(ctx, e)
	if err != nil {
		return Info{}, err
	}
	name, project := o.Name, ""
	if name == "" {
		name, project = projectName(o.Project, all), o.Project
		if i := ofProject(o.Project, all); i != nil {
			name = i.Name
		}
	}
	if find(all, name) != nil {
		return Info{}, &fault.Error{
			Kind: ErrExists, Message: fmt.Sprintf("the cluster %q already exists", name),
			Next: "start it with: kopf cluster start " + name,
		}
	}
	switch {
	case o.Ephemeral:
		provider = Embedded
	case provider == Auto && o.K3d != K3dOptions{}:
		provider = K3d
	default:
		provider, _ = newProvider(provider, func() (bool, string) { return probeK3d(ctx) })
	}
	if provider == Embedded {
		return e.start(ctx, name, project, o)
	}
	k, err := wantK3d()
	if err != nil {
		return Info{}, err
	}
	return k.Create(ctx, name, project, o)
}

// Start starts a stopped cluster, detached. If the cluster is running detached already, it only repairs damage from a
// restart of the Docker engine. It uses Progress of the options.
func Start(ctx context.Context, name string, o Options) (Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return Info{}, err
	}
	i, err := lookup(ctx, e, name)
	if err != nil {
		return Info{}, err
	}
	switch {
	case i.Provider == K3d:
		return k3d.Start(ctx, name, o)
	case i.Owner != 0:
		return Info{}, ownedError(i)
	case i.State == Running || i.State == Starting:
		return i, nil
	}
	return e.start(ctx, name, "", o)
}

// Stop stops a detached cluster and keeps its data, unless it is ephemeral. It does nothing
// if the cluster is stopped.
func Stop(ctx context.Context, name string) error {
	e, i, err := getDetached(ctx, name)
	switch {
	case err != nil:
		return err
	case i.Provider == K3d:
		return k3d.Stop(ctx, name)
	default:
		return e.stop(ctx, name)
	}
}

// Delete stops a detached cluster and deletes its data.
func Delete(ctx context.Context, name string) error {
	e, i, err := getDetached(ctx, name)
	switch {
	case err != nil:
		return err
	case i.Provider == K3d:
		return k3d.Delete(ctx, name)
	default:
		return e.remove(ctx, name)
	}
}

// ImportImages copies images of the Docker engine, or archives made by docker save, to the nodes
// of a cluster of the provider K3d. It uses Progress of the options. The error is
// [ErrImage] if there is no such image, and [ErrInvalid] if the cluster is an embedded one.
func ImportImages(ctx context.Context, name string, images []string, o Options) error {
	e, err := newEmbedded()
	if err != nil {
		return err
	}
	i, err := lookup(ctx, e, name)
	if err != nil {
		return err
	}
	if i.Provider != K3d {
		return &fault.Error{
			Kind: ErrInvalid, Message: fmt.Sprintf("the cluster %q runs no containers, so it needs no images", name),
			Next: "create one that does with: kopf cluster create --provider=k3d",
		}
	}
	return k3d.ImportImages(ctx, name, images, o)
}

// getDetached fails if the cluster does not exist or belongs to another process.
func getDetached(ctx context.Context, name string) (embedded, Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return embedded{}, Info{}, err
	}
	i, err := lookup(ctx, e, name)
	if err != nil {
		return embedded{}, Info{}, err
	}
	if i.Owner != 0 {
		return embedded{}, Info{}, ownedError(i)
	}
	return e, i, nil
}

func ownedError(i Info) error {
	return &fault.Error{
		Kind:    ErrInUse,
		Message: fmt.Sprintf("the cluster %q belongs to process %d and ends with it", i.Name, i.Owner),
		Next:    "stop that process",
	}
}
