package devcluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/devcluster/internal/instance"
)

// providers are those that Open chooses from.
type providers []provider

func newProviders() (providers, error) {
	root, err := instance.Root()
	if err != nil {
		return nil, err
	}
	return providers{embedded{root: root}, kubecontext{}}, nil
}

func (ps providers) named(name string) provider {
	return ps[slices.IndexFunc(ps, func(p provider) bool { return p.name() == name })]
}

func (ps providers) list(ctx context.Context) ([]Info, error) {
	var all []Info
	for _, p := range ps {
		m, ok := p.(manager)
		if !ok {
			continue
		}
		infos, err := m.list(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the clusters of %s: %w", p.name(), err)
		}
		all = append(all, infos...)
	}
	slices.SortFunc(all, func(a, b Info) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// locate finds a cluster and its manager.
func (ps providers) locate(ctx context.Context, name string) (Info, manager, error) {
	all, err := ps.list(ctx)
	if err != nil {
		return Info{}, nil, err
	}
	if i := find(all, name); i != nil {
		return *i, ps.named(i.Provider).(manager), nil
	}
	return Info{}, nil, notFound(name)
}

// List returns the clusters that kopf manages, sorted by name, running or not.
func List(ctx context.Context) ([]Info, error) {
	ps, err := newProviders()
	if err != nil {
		return nil, err
	}
	return ps.list(ctx)
}

// Get returns one cluster that kopf manages.
func Get(ctx context.Context, name string) (Info, error) {
	ps, err := newProviders()
	if err != nil {
		return Info{}, err
	}
	i, _, err := ps.locate(ctx, name)
	return i, err
}

// Create makes a cluster that did not exist, and starts it detached. Of the options
// it takes the provider, the name, Ephemeral and Progress.
func Create(ctx context.Context, o Options) (Info, error) {
	ps, err := newProviders()
	if err != nil {
		return Info{}, err
	}
	name := cmp.Or(o.Name, DefaultName)
	if err := checkName(name); err != nil {
		return Info{}, err
	}
	provider, _, err := chooseProvider(o)
	if err != nil {
		return Info{}, err
	}
	m, ok := ps.named(provider).(manager)
	if !ok {
		return Info{}, &fault.Error{
			Kind: ErrInvalid, Message: fmt.Sprintf("the provider %s uses clusters and does not create any", provider),
			Next: "use the provider embedded",
		}
	}
	all, err := ps.list(ctx)
	if err != nil {
		return Info{}, err
	}
	if find(all, name) != nil {
		return Info{}, &fault.Error{
			Kind: ErrExists, Message: fmt.Sprintf("the cluster %q exists already", name),
			Next: "start it with: kopf cluster start " + name,
		}
	}
	return m.start(ctx, name, o)
}

// Start starts a stopped cluster, detached. Starting a detached one that runs does nothing.
// Of the options it takes Progress.
func Start(ctx context.Context, name string, o Options) (Info, error) {
	ps, err := newProviders()
	if err != nil {
		return Info{}, err
	}
	i, m, err := ps.locate(ctx, name)
	if err != nil {
		return Info{}, err
	}
	switch {
	case i.Owner != 0:
		return Info{}, ownedError(i)
	case i.State == Running || i.State == Starting:
		return i, nil
	}
	return m.start(ctx, name, o)
}

// Stop stops a detached cluster, and keeps its data unless it is ephemeral. Stopping a stopped one does nothing.
func Stop(ctx context.Context, name string) error {
	return onDetached(ctx, name, manager.stop)
}

// Delete stops a detached cluster and deletes its data.
func Delete(ctx context.Context, name string) error {
	return onDetached(ctx, name, manager.remove)
}

// onDetached does something to a cluster that does not end with another process.
func onDetached(ctx context.Context, name string, do func(manager, context.Context, string) error) error {
	ps, err := newProviders()
	if err != nil {
		return err
	}
	i, m, err := ps.locate(ctx, name)
	if err != nil {
		return err
	}
	if i.Owner != 0 {
		return ownedError(i)
	}
	return do(m, ctx, name)
}

func ownedError(i Info) error {
	return &fault.Error{
		Kind:    ErrInUse,
		Message: fmt.Sprintf("the cluster %q belongs to the process %d and ends with it", i.Name, i.Owner),
		Next:    "stop that process",
	}
}
