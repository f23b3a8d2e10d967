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
	// reuse is the running cluster to join. It is nil if a cluster has to be started, or for
	// the provider Context.
	reuse  *Info
	reason string
}

// choose decides which cluster to use, from the options and the known clusters. It does no I/O.
func choose(o Options, known []Info) (choice, error) {
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
		c, err := chooseNamed(o.Name, known)
		if find(known, o.Name) == nil {
			c.project = o.Project
		}
		return c, err
	}
	return chooseUnnamed(o.Project, known), nil
}

// Check reports a mistake in the options that is known without looking at any cluster. The
// error is [ErrInvalid].
func (o Options) Check() error {
	provider, _, err := chooseProvider(o)
	if err == nil && provider == Embedded && o.Name != "" {
		err = checkName(o.Name)
	}
	return err
}

func chooseProvider(o Options) (provider, reason string, err error) {
	given := o.Context != "" || o.Kubeconfig != ""
	switch o.Provider {
	case Context:
		provider, reason = Context, "requested"
	case Embedded:
		provider = Embedded
	case Auto, "":
		provider = Embedded
		if given {
			provider, reason = Context, "a kubeconfig or a context was given"
		}
	default:
		return "", "", &fault.Error{
			Kind:    ErrInvalid,
			Message: fmt.Sprintf("unknown cluster provider %q", o.Provider),
			Next:    "use auto, embedded or context",
		}
	}
	switch {
	case provider == Embedded && given:
		err = &fault.Error{Kind: ErrInvalid, Message: "an embedded cluster has its own kubeconfig", Next: "omit the context and the kubeconfig, or use the provider context"}
	case provider == Context && o.Ephemeral:
		err = &fault.Error{Kind: ErrInvalid, Message: "an existing cluster cannot be ephemeral", Next: "use the provider embedded"}
	case provider == Context && o.Name != "":
		err = &fault.Error{Kind: ErrInvalid, Message: fmt.Sprintf("the name %q is for embedded clusters only", o.Name), Next: "name an existing cluster by its context"}
	}
	return provider, reason, err
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

func chooseNamed(name string, known []Info) (choice, error) {
	i := find(known, name)
	switch {
	case i == nil:
		return choice{provider: Embedded, name: name, reason: "it did not exist"}, nil
	case i.shared():
		return choice{provider: Embedded, name: name, reuse: i, reason: "already running"}, nil
	case i.free():
		return choice{provider: Embedded, name: name, reason: "it was stopped"}, nil
	case i.Owner != 0:
		return choice{}, &fault.Error{
			Kind:    ErrInUse,
			Message: fmt.Sprintf("the cluster %q belongs to process %d and ends with it", name, i.Owner),
			Next:    "use another name, or omit the name",
		}
	default:
		return choice{}, &fault.Error{
			Kind:    ErrUnreachable,
			Message: fmt.Sprintf("the cluster %q (process %d) does not answer at %s", name, i.PID, i.Server),
			Next:    "stop it with: kopf cluster stop " + name,
		}
	}
}

// chooseUnnamed chooses a cluster of the project. It prefers running ones, the first one of the
// project before all. known must be sorted by name.
func chooseUnnamed(project string, known []Info) choice {
	c := choice{provider: Embedded, project: project}
	where := ""
	if project != "" {
		where = "; project " + project
	}
	base := projectName(project, known)
	own := func(i *Info) bool { return i != nil && i.Project == project }
	if i := find(known, base); own(i) && i.shared() {
		c.name, c.reuse, c.reason = i.Name, i, "already running"+where
		return c
	}
	for _, i := range known {
		if own(&i) && i.shared() {
			c.name, c.reuse, c.reason = i.Name, &i, "already running"+where
			return c
		}
	}
	c.name = nextName(base, func(n string) bool {
		i := find(known, n)
		return i == nil || own(i) && i.free()
	})
	c.reason = "no cluster was running" + where
	if i := find(known, base); c.name != base && i != nil {
		c.reason = fmt.Sprintf("%q is used by process %d%s", base, max(i.Owner, i.PID), where)
		if i.Owner != 0 {
			c.reason = fmt.Sprintf("%q belongs to process %d%s", base, i.Owner, where)
		}
	}
	return c
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
var providers = []string{Auto, Embedded, Context}

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
