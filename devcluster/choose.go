package devcluster

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// choice is the cluster that Open returns, and the reason for a person.
type choice struct {
	provider string
	name     string
	// project is the project that the cluster becomes one of, if it is new.
	project string
	// known is the cluster if it exists already. It is nil for a new one, and for the provider
	// Context.
	known  *Info
	reason string
}

// reuses reports whether the cluster is running already.
func (c choice) reuses() bool { return c.known != nil && c.known.shared() }

// prober reports whether a new cluster can be one of K3d, and why; see probeK3d.
type prober func() (available bool, reason string)

// choose decides which cluster to use, from the options and the known clusters. It does no I/O,
// except that it probes for an engine if the provider of a new cluster depends on it.
func choose(o Options, known []Info, probe prober) (choice, error) {
	provider, reason, err := chooseProvider(o)
	if err != nil {
		return choice{}, err
	}
	if provider == Context {
		return choice{provider: Context, name: o.Context, reason: reason}, nil
	}
	if o.Name != "" {
		if err := checkName(o.Name); err != nil {
			return choice{}, err
		}
	}
	if o.Ephemeral {
		c, err := chooseEphemeral(o.Name, known)
		c.project = o.Project
		return c, err
	}
	if o.Name != "" {
		c, err := chooseNamed(provider, o.Name, known, probe)
		if c.known == nil {
			c.project = o.Project
		}
		return c, err
	}
	return chooseUnnamed(provider, o.Project, known, probe), nil
}

// Check returns the errors in the options that are known without reading any cluster. The error is [ErrInvalid].
func (o Options) Check() error {
	provider, _, err := chooseProvider(o)
	if err == nil && provider != Context && o.Name != "" {
		err = checkName(o.Name)
	}
	if err == nil && provider == K3d {
		_, err = wantK3d()
	}
	if err == nil {
		_, err = normalGates(o.FeatureGates)
	}
	return err
}

// chooseProvider returns Context, Embedded, K3d, or Auto for one of the latter two.
func chooseProvider(o Options) (provider, reason string, err error) {
	given := o.Context != "" || o.Kubeconfig != ""
	switch o.Provider {
	case Context:
		provider, reason = Context, "requested"
	case Embedded, K3d:
		provider = o.Provider
	case Auto, "":
		provider = Auto
		if given {
			provider, reason = Context, "a kubeconfig or a context was given"
		} else if o.FeatureGates != "" {
			provider = Embedded
		}
	default:
		return "", "", &fault.Error{
			Kind:    ErrInvalid,
			Message: fmt.Sprintf("unknown cluster provider %q", o.Provider),
			Next:    "use auto, embedded, k3d or context",
		}
	}
	switch {
	case o.Copy && !o.Ephemeral:
		err = &fault.Error{Kind: ErrInvalid, Message: "a copy of another cluster is ephemeral", Next: "make it ephemeral"}
	case provider == Embedded && given:
		err = &fault.Error{Kind: ErrInvalid, Message: "an embedded cluster has its own kubeconfig", Next: "omit the context and the kubeconfig, or use the provider context"}
	case provider == K3d && given:
		err = &fault.Error{Kind: ErrInvalid, Message: "a k3d cluster has its own kubeconfig", Next: "omit the context and the kubeconfig, or use the provider context"}
	case provider == K3d && o.Ephemeral:
		err = &fault.Error{Kind: ErrInvalid, Message: "a k3d cluster cannot be ephemeral", Next: "use the provider embedded, or delete the cluster with: kopf cluster delete"}
	case provider == Embedded && o.K3d != K3dOptions{}:
		err = &fault.Error{Kind: ErrInvalid, Message: "an embedded cluster has neither a version of K3s nor a registry", Next: "use the provider k3d"}
	case provider == K3d && o.FeatureGates != "":
		err = &fault.Error{Kind: ErrInvalid, Message: "only embedded clusters have feature gates to choose", Next: "use the provider embedded"}
	case provider == Context && o.FeatureGates != "":
		err = &fault.Error{Kind: ErrInvalid, Message: "an existing cluster has its own feature gates", Next: "use the provider embedded"}
	case provider == Context && o.Ephemeral:
		err = &fault.Error{Kind: ErrInvalid, Message: "an existing cluster cannot be ephemeral", Next: "use the provider embedded"}
	case provider == Context && o.Name != "":
		err = &fault.Error{Kind: ErrInvalid, Message: fmt.Sprintf("the name %q is for clusters of kopf only", o.Name), Next: "name an existing cluster by its context"}
	}
	return provider, reason, err
}

// newProvider returns the provider of a new cluster, and the reason if there was a choice.
func newProvider(wanted string, probe prober) (provider, reason string) {
	if wanted != Auto {
		return wanted, ""
	}
	available, reason := probe()
	if available {
		return K3d, reason
	}
	return Embedded, reason
}

func chooseEphemeral(name string, known []Info) (choice, error) {
	if name == "" {
		name = nextName("ephemeral", func(n string) bool { return find(known, n) == nil })
		return choice{provider: Embedded, name: name, reason: "new and ephemeral"}, nil
	}
	if i := find(known, name); i != nil {
		return choice{}, &fault.Error{
			Kind:    ErrExists,
			Message: fmt.Sprintf("the cluster %q has data; an ephemeral cluster must be new", name),
			Next:    "use another name, or delete it with: kopf cluster delete " + name,
		}
	}
	return choice{provider: Embedded, name: name, reason: "new and ephemeral"}, nil
}

func chooseNamed(provider, name string, known []Info, probe prober) (choice, error) {
	i := find(known, name)
	if i == nil {
		provider, why := newProvider(provider, probe)
		return choice{provider: provider, name: name, reason: join("it did not exist", why)}, nil
	}
	c := choice{provider: i.Provider, name: name, known: i}
	switch {
	case provider != Auto && provider != i.Provider:
		return choice{}, &fault.Error{
			Kind:    ErrExists,
			Message: fmt.Sprintf("the cluster %q exists, with the provider %s", name, i.Provider),
			Next:    "use another name, or delete it with: kopf cluster delete " + name,
		}
	case i.shared():
		c.reason = "already running"
		return c, nil
	case i.free():
		c.reason = "it was stopped"
		return c, nil
	case i.Owner != 0:
		return choice{}, &fault.Error{
			Kind:    ErrInUse,
			Message: fmt.Sprintf("the cluster %q belongs to process %d and ends with it", name, i.Owner),
			Next:    "use another name, or omit the name",
		}
	case i.Provider == K3d:
		c.reason = "it was created before"
		return c, nil // its start reports the problem
	default:
		return choice{}, &fault.Error{
			Kind:    ErrUnreachable,
			Message: fmt.Sprintf("the cluster %q (process %d) does not answer at %s", name, i.PID, i.Server),
			Next:    "stop it with: kopf cluster stop " + name,
		}
	}
}

// chooseUnnamed chooses a cluster of the project. It prefers running clusters, then existing clusters, and among
// equals the first one of the project. known must be sorted by name.
func chooseUnnamed(provider, project string, known []Info, probe prober) choice {
	where := ""
	if project != "" {
		where = "; project " + project
	}
	base := projectName(project, known)
	fits := func(i *Info) bool {
		return i != nil && i.Project == project && (provider == Auto || provider == i.Provider)
	}
	if i := find(known, base); fits(i) && i.shared() {
		return choice{provider: i.Provider, name: i.Name, known: i, project: project, reason: "already running" + where}
	}
	for _, i := range known {
		if fits(&i) && i.shared() {
			return choice{provider: i.Provider, name: i.Name, known: &i, project: project, reason: "already running" + where}
		}
	}
	c := choice{project: project, reason: "no cluster was running"}
	c.name = nextName(base, func(n string) bool {
		i := find(known, n)
		return i == nil || fits(i) && i.free()
	})
	if i := find(known, base); c.name != base {
		c.reason = unusable(*i)
	}
	if c.known = find(known, c.name); c.known != nil {
		c.provider = c.known.Provider
		c.reason += where
		return c
	}
	var why string
	c.provider, why = newProvider(provider, probe)
	c.reason = join(c.reason, why) + where
	return c
}

// unusable returns why a project does not get its first cluster.
func unusable(i Info) string {
	switch {
	case i.Owner != 0:
		return fmt.Sprintf("%q belongs to process %d", i.Name, i.Owner)
	case i.Provider == K3d && i.State == Unreachable:
		return fmt.Sprintf("%q does not answer", i.Name)
	case i.free() || i.shared():
		return fmt.Sprintf("%q has the provider %s", i.Name, i.Provider)
	default:
		return fmt.Sprintf("%q is used by process %d", i.Name, i.PID)
	}
}

// join joins reasons, of which the second may be empty.
func join(reason, why string) string {
	if why == "" {
		return reason
	}
	return reason + ", and " + why
}

// nextName returns the first free name of base, base-2, base-3 and so on.
func nextName(base string, free func(string) bool) string {
	name := base
	for n := 2; !free(name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

func find(known []Info, name string) *Info {
	if n := slices.IndexFunc(known, func(i Info) bool { return i.Name == name }); n >= 0 {
		return &known[n]
	}
	return nil
}

// nameRule matches names that can be a folder and a part of a context's name.
var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

// providers are the values of the flag --cluster that are not names of clusters.
var providers = []string{Auto, Embedded, K3d, Context}

func checkName(name string) error {
	if slices.Contains(providers, name) {
		return &fault.Error{
			Kind: ErrInvalid, Message: fmt.Sprintf("no cluster can be named %q, because --cluster=%s has another meaning", name, name),
			Next: "use another name",
		}
	}
	if nameRule.MatchString(name) {
		return nil
	}
	return &fault.Error{
		Kind:    ErrInvalid,
		Message: fmt.Sprintf("invalid cluster name %q", name),
		Next:    "use up to 40 lower-case letters, digits and dashes, such as dev-2",
	}
}
