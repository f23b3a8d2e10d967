package devcluster

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// choice is the decision which cluster Open hands out, and the reason for people.
type choice struct {
	provider string
	name     string
	// reuse is the running cluster to take; otherwise one is to be started (or, for
	// a context, only to be reached).
	reuse  *Info
	reason string
}

// choose decides from the options and the clusters that are known. It does no I/O.
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
		provider, reason = Context, "asked for"
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
			Message: fmt.Sprintf("there is no provider %q of clusters", o.Provider),
			Next:    "use auto, embedded or context",
		}
	}
	switch {
	case provider == Embedded && given:
		err = &fault.Error{Kind: ErrInvalid, Message: "an embedded cluster has its own kubeconfig", Next: "leave out the context and the kubeconfig, or use the provider context"}
	case provider == Context && o.Ephemeral:
		err = &fault.Error{Kind: ErrInvalid, Message: "an existing cluster cannot be ephemeral", Next: "use the provider embedded"}
	case provider == Context && o.Name != "":
		err = &fault.Error{Kind: ErrInvalid, Message: fmt.Sprintf("the name %q is one of an embedded cluster", o.Name), Next: "name an existing cluster by its context"}
	}
	return provider, reason, err
}

func chooseEphemeral(name string, known []Info) (choice, error) {
	if name == "" {
		name = nextName("ephemeral", func(n string) bool { return find(known, n) == nil })
		return choice{provider: Embedded, name: name, reason: "a new one, to be forgotten at the end"}, nil
	}
	if i := find(known, name); i != nil {
		return choice{}, &fault.Error{
			Kind:    ErrExists,
			Message: fmt.Sprintf("the cluster %q has data, and an ephemeral one starts without any", name),
			Next:    "use another name, or delete it with: kopf cluster delete " + name,
		}
	}
	return choice{provider: Embedded, name: name, reason: "a new one, to be forgotten at the end"}, nil
}

func chooseNamed(name string, known []Info) (choice, error) {
	i := find(known, name)
	switch {
	case i == nil:
		return choice{provider: Embedded, name: name, reason: "it did not exist"}, nil
	case i.shared():
		return choice{provider: Embedded, name: name, reuse: i, reason: "it was running already"}, nil
	case i.free():
		return choice{provider: Embedded, name: name, reason: "it was stopped"}, nil
	case i.Owner != 0:
		return choice{}, &fault.Error{
			Kind:    ErrInUse,
			Message: fmt.Sprintf("the cluster %q belongs to the process %d and ends with it", name, i.Owner),
			Next:    "use another name, or leave the name out",
		}
	default:
		return choice{}, &fault.Error{
			Kind:    ErrUnreachable,
			Message: fmt.Sprintf("the cluster %q runs as the process %d and does not answer at %s", name, i.PID, i.Server),
			Next:    "stop it with: kopf cluster stop " + name,
		}
	}
}

// chooseUnnamed prefers what runs, the default name first; known is sorted by name.
func chooseUnnamed(known []Info) choice {
	if i := find(known, DefaultName); i != nil && i.shared() {
		return choice{provider: Embedded, name: i.Name, reuse: i, reason: "it was running already"}
	}
	for _, i := range known {
		if i.shared() {
			return choice{provider: Embedded, name: i.Name, reuse: &i, reason: "it was running already"}
		}
	}
	name := nextName(DefaultName, func(n string) bool {
		i := find(known, n)
		return i == nil || i.free()
	})
	reason := "no cluster was running"
	if name != DefaultName {
		i := find(known, DefaultName)
		reason = fmt.Sprintf("%q is used by the process %d", DefaultName, max(i.Owner, i.PID))
		if i.Owner != 0 {
			reason = fmt.Sprintf("%q belongs to the process %d", DefaultName, i.Owner)
		}
	}
	return choice{provider: Embedded, name: name, reason: reason}
}

// nextName is the first free of base, base-2, base-3 and so on.
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

// A name is a folder, a part of a context's name, and typed by people.
var nameRule = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$`)

func checkName(name string) error {
	if nameRule.MatchString(name) {
		return nil
	}
	return &fault.Error{
		Kind:    ErrInvalid,
		Message: fmt.Sprintf("%q is no name for a cluster", name),
		Next:    "use up to 40 lower-case letters, digits and dashes, such as dev-2",
	}
}
