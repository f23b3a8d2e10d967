package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/environ"
	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// peeringFlags are the flags of kopf freeze, kopf resume and kopf peers.
type peeringFlags struct {
	kubeconfig, context string
	namespaces          []string
	allNamespaces       bool
	peering, id         string
	debug               bool
	stderr              io.Writer
}

// addScope adds the flags for the peering objects. The default is the name of the objects.
func (f *peeringFlags) addScope(cmd *cobra.Command, name, usage string) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "the operators of a namespace, or of those that match a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "the operators of the whole cluster")
	set.StringVarP(&f.peering, "peering", "P", name, usage)
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file to use (default: $KUBECONFIG, ~/.kube/config)")
	set.StringVar(&f.context, "context", "", "the context of the kubeconfig to use")
	set.BoolVarP(&f.debug, "debug", "d", false, "print each request to the cluster to standard error")
	if err := cmd.MarkFlagFilename("kubeconfig"); err != nil {
		panic(err) // the flag is not defined: a bug in this function
	}
	registerCompletion(cmd, "context", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		names, err := devcluster.Contexts(f.kubeconfig)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return completions(names)
	})
}

func (f *peeringFlags) addID(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&f.id, "id", "i", "", "the identity in the peering (default: $POD_ID, or the user and the host, such as alice@laptop)")
}

// check applies the environment variables of a command of Kopf, unless it is empty, and validates the flags.
func (f *peeringFlags) check(cmd *cobra.Command, variables string) error {
	if variables != "" {
		if err := environ.Apply(cmd.Flags(), variables); err != nil {
			return usagef("%w", err)
		}
	}
	f.stderr = cmd.ErrOrStderr()
	switch {
	case slices.ContainsFunc(f.namespaces, func(n string) bool { return strings.TrimSpace(n) == "" }):
		return usagef("--namespace is empty: name one, or use --all-namespaces")
	case f.allNamespaces && len(f.namespaces) > 0:
		return usagef("--all-namespaces excludes --namespace: use one or the other")
	}
	return nil
}

func (f *peeringFlags) identity() string { return cmp.Or(f.id, peering.PersonalIdentity()) }

func (f *peeringFlags) scope() peering.Scope {
	return peering.Scope{Name: f.peering, Namespaces: f.namespaces}
}

func (f *peeringFlags) loader() clientcmd.ClientConfig {
	return kubeconfigLoader(f.kubeconfig, f.context)
}

// connect returns a client for the cluster of the flags.
func (f *peeringFlags) connect() (*peering.Client, error) {
	config, err := clusterConfig(f.loader())
	if err != nil {
		return nil, err
	}
	if f.debug {
		lines := log.New(f.stderr, "kopf: ", 0)
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tracer{next: next, lines: lines} })
	}
	return peering.NewClient(config)
}

// tracer prints requests and the status of their responses.
type tracer struct {
	next  http.RoundTripper
	lines *log.Logger // requests end at the same time
}

// WrappedRoundTripper implements the interface RoundTripperWrapper of apimachinery, which client-go needs to close idle connections.
func (t *tracer) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t *tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(req)
	result := ""
	if err != nil {
		result = printable.WithoutPasswords(err.Error())
	} else {
		result = response.Status
	}
	t.lines.Printf("%s %s: %s", req.Method, printable.Line(req.URL.Redacted()), printable.Line(result))
	return response, err
}

// find returns the peering objects of the flags, and a client for them.
func (f *peeringFlags) find(ctx context.Context) (*peering.Client, []*peering.Object, error) {
	client, err := f.connect()
	if err != nil {
		return nil, nil, err
	}
	objects, err := client.Find(ctx, f.scope())
	if err != nil {
		client.Close()
		return nil, nil, fmt.Errorf("find the peering: %w", err)
	}
	return client, objects, nil
}

// secondsValue is a flag with a duration: a number of seconds, as in Kopf for Python, or a duration of Go.
type secondsValue time.Duration

func (v *secondsValue) String() string {
	if *v == 0 {
		return ""
	}
	return time.Duration(*v).String()
}

func (*secondsValue) Type() string { return "seconds" }

func (v *secondsValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if seconds, notNumber := strconv.Atoi(text); notNumber == nil {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < time.Second {
		return errors.New("want seconds, or a duration such as 10m, of at least a second")
	}
	*v = secondsValue(d)
	return nil
}
