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
		return chooseEphemeral(o.Name, known)
	}
	if o.Name != "" {
		return chooseNamed(o.Name, known)
	}
	return chooseUnnamed(known), nil
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

// chooseUnnamed prefers running clusters, the one with the default name first. known must be
// sorted by name.
func chooseUnnamed(known []Info) choice {
	if i := find(known, DefaultName); i != nil && i.shared() {
		return choice{provider: Embedded, name: i.Name, reuse: i, reason: "already running"}
	}
	for _, i := range known {
		if i.shared() {
			return choice{provider: Embedded, name: i.Name, reuse: &i, reason: "already running"}
		}
	}
	name := nextName(DefaultName, func(n string) bool {
		i := find(known, n)
		return i == nil || i.free()
	})
	reason := "no cluster was running"
	if name != DefaultName {
		i := find(known, DefaultName)
		reason = fmt.Sprintf("%q is used by process %d", DefaultName, max(i.Owner, i.PID))
		if i.Owner != 0 {
			reason = fmt.Sprintf("%q belongs to process %d", DefaultName, i.Owner)
		}
	}
	return choice{provider: Embedded, name: name, reason: reason}
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

func checkName(name string) error {
	if nameRule.MatchString(name) {
		return nil
	}
	return &fault.Error{
		Kind:    ErrInvalid,
		Message: fmt.Sprintf("invalid cluster name %q", name),
		Next:    "use up to 40 lower-case letters, digits and dashes, such as dev-2",
	}
}
