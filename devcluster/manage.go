package devcluster

import (
	"context"
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
	all, err := e.list(ctx)
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
	return e.get(ctx, name)
}

// Create creates a cluster and starts it detached. It uses the provider, the name, the project,
// Ephemeral and Progress of the options. A cluster with a name is of no project. The error is [ErrExists] if the name is taken.
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
	if provider != Embedded {
		return Info{}, &fault.Error{
			Kind: ErrInvalid, Message: fmt.Sprintf("the provider %s cannot create clusters", provider),
			Next: "use the provider embedded",
		}
	}
	all, err := e.sweep(ctx)
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
	return e.start(ctx, name, project, o)
}

// Start starts a stopped cluster, detached. It does nothing if the cluster is running
// detached already. It uses Progress of the options.
func Start(ctx context.Context, name string, o Options) (Info, error) {
	e, err := newEmbedded()
	if err != nil {
		return Info{}, err
	}
	i, err := e.get(ctx, name)
	if err != nil {
		return Info{}, err
	}
	switch {
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
	e, err := getDetached(ctx, name)
	if err != nil {
		return err
	}
	return e.stop(ctx, name)
}

// Delete stops a detached cluster and deletes its data.
func Delete(ctx context.Context, name string) error {
	e, err := getDetached(ctx, name)
	if err != nil {
		return err
	}
	return e.remove(ctx, name)
}

// getDetached fails if the cluster does not exist or belongs to another process.
func getDetached(ctx context.Context, name string) (embedded, error) {
	e, err := newEmbedded()
	if err != nil {
		return embedded{}, err
	}
	i, err := e.get(ctx, name)
	if err != nil {
		return embedded{}, err
	}
	if i.Owner != 0 {
		return embedded{}, ownedError(i)
	}
	return e, nil
}

func ownedError(i Info) error {
	return &fault.Error{
		Kind:    ErrInUse,
		Message: fmt.Sprintf("the cluster %q belongs to process %d and ends with it", i.Name, i.Owner),
		Next:    "stop that process",
	}
}
