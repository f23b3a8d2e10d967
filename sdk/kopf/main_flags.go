package kopf

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kopf-dev/kopf/sdk/environ"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine"
	"github.com/kopf-dev/kopf/sdk/internal/shards"
)

// mainFlags are the flags of an operator's command line.
type mainFlags struct {
	name string // program name, for messages

	kubeconfig, context   string
	namespaces            []string
	allNamespaces         bool
	noScanning            bool
	verbose, quiet, debug bool
	logFormat, logRefKey  string
	logPrefix             bool
	inspector, liveness   string
	admission             admissionFlags
	scaling               ScalingSettings

	peering, identity string
	priority          int
	standalone, dev   bool

	prefixSet, prioritySet bool
	usage                  string

	uninstall *uninstallFlags // nil to run the operator
}

// logFormats are the values of --log-format.
var logFormats = []string{"full", "plain", "json", "none"}

// parseFlags parses the command line. "kopf run" has the same flags with the same descriptions.
func parseFlags(name string, args []string) (*mainFlags, error) {
	f := &mainFlags{name: name}
	if len(args) > 0 && args[0] == uninstallCommand {
		f.uninstall, f.name, args = new(uninstallFlags), name+" "+uninstallCommand, args[1:]
	}
	set := pflag.NewFlagSet(name, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	set.SortFlags = false
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file to use, instead of login handlers (default: the login handlers; without any, the pod's service account, $KUBECONFIG, ~/.kube/config)")
	set.StringVar(&f.context, "context", "", "the context of the kubeconfig to use, instead of login handlers")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to serve, or a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "serve the whole cluster")
	set.BoolVar(&f.noScanning, "no-scanning", false, "look for resources and namespaces only at the start, and do not watch them")
	set.StringVar(&f.scaling.LabelSelector, "watch-label-selector", "", "handle only objects with these labels, such as 'tier=gold'")
	set.BoolVar(&f.scaling.LeaderElection, "leader-elect", false, "one replica handles the objects while the others stand by (needs --lease)")
	set.IntVar(&f.scaling.Shards, "shards", 0, "divide the objects into this many shards among all replicas (needs --lease)")
	shardKey := set.String("shard-key", string(shards.ByUID), "how objects are assigned to shards: by uid or by namespace")
	lease := set.String("lease", "", "the name that all replicas of this operator share, as NAME or NAMESPACE/NAME")
	set.StringVarP(&f.peering, "peering", "P", "", "the name of the peering object, which must exist (default: the object \"default\" if it exists)")
	set.IntVarP(&f.priority, "priority", "p", 0, "the priority of the operator: of all in a peering, the highest one acts")
	set.BoolVar(&f.standalone, "standalone", false, "ignore other operators: no peering")
	set.BoolVar(&f.dev, "dev", false, "development: --priority=666, and others act 10s after this operator is killed")
	set.StringVar(&f.identity, "identity", "", "the name of the operator in the peering (default: $POD_ID, or one with the user, the host and the time)")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "show the framework's own actions")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "show only warnings and errors")
	set.BoolVarP(&f.debug, "debug", "d", false, "show everything, the traffic with the cluster included")
	set.StringVar(&f.logFormat, "log-format", "full", "how logs look: full, plain, json or none")
	set.BoolVar(&f.logPrefix, "log-prefix", true, "begin messages about an object with its name; in json only if it is given")
	noPrefix := set.Bool("no-log-prefix", false, "do not begin messages with the name of the object")
	set.StringVar(&f.logRefKey, "log-refkey", "object", "the key of an object's identity in json logs")
	set.StringVar(&f.inspector, "inspect", "", "publish the operator's state at unix:PATH or tcp:127.0.0.1:PORT (KOPF_INSPECTOR_TOKEN sets its token)")
	set.StringVarP(&f.liveness, "liveness", "L", "", "serve a liveness endpoint at this URL, such as http://0.0.0.0:8080/healthz")
	var webhooks webhookFlags
	webhooks.add(set)
	if f.uninstall != nil {
		f.uninstall.add(set)
		f.usage = fmt.Sprintf(uninstallUsage, f.name, set.FlagUsages())
	} else {
		f.usage = fmt.Sprintf(usage, name, set.FlagUsages())
	}
	if err := set.Parse(args); err != nil {
		return f, err
	}
	if err := environ.Apply(set, "RUN"); err != nil {
		return f, err
	}
	f.prioritySet = set.Changed("priority")
	f.prefixSet = set.Changed("log-prefix") || *noPrefix
	f.logPrefix = f.logPrefix && !*noPrefix
	f.scaling.ShardByNamespace = shards.Key(*shardKey) == shards.ByNamespace
	if namespace, name, both := strings.Cut(*lease, "/"); both {
		f.scaling.LeaseNamespace, f.scaling.LeaseName = namespace, name
	} else {
		f.scaling.LeaseName = *lease
	}
	switch {
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q: an operator takes only flags (see --help)", set.Arg(0))
	case slices.ContainsFunc(f.namespaces, func(n string) bool { return strings.TrimSpace(n) == "" }):
		return f, errors.New("--namespace is empty: name one, or use --all-namespaces")
	case f.allNamespaces && len(f.namespaces) > 0:
		return f, errors.New("--all-namespaces excludes --namespace: use one or the other")
	case f.standalone && f.peering != "":
		return f, errors.New("--standalone excludes --peering: use one or the other")
	case f.quiet && (f.verbose || f.debug):
		return f, errors.New("--quiet excludes --verbose and --debug: use one or the other")
	case shards.Key(*shardKey) != shards.ByUID && shards.Key(*shardKey) != shards.ByNamespace:
		return f, fmt.Errorf("--shard-key=%s: want uid or namespace", *shardKey)
	case !slices.Contains(logFormats, f.logFormat):
		return f, fmt.Errorf("--log-format=%s: want full, plain, json or none", f.logFormat)
	}
	if f.uninstall != nil {
		if err := f.uninstall.check(); err != nil {
			return f, err
		}
	}
	if err := f.checkScaling(set.Changed("shards"), set.Changed("shard-key")); err != nil {
		return f, err
	}
	if err := engine.CheckEndpoint(f.liveness); err != nil {
		return f, fmt.Errorf("--liveness: %w", err)
	}
	var err error
	if f.admission, err = webhooks.parse(); err != nil {
		return f, err
	}
	if f.inspector != "" {
		if _, err := inspect.Dial(f.inspector); err != nil { // only parses the address
			return f, fmt.Errorf("--inspect: %w", err)
		}
	}
	return f, nil
}

// checkScaling returns an error for scaling flags that contradict each other or are incomplete. Flags count as incomplete
// even if startup handlers could set the missing values.
func (f *mainFlags) checkScaling(shards, shardKey bool) error {
	s := &f.scaling
	if _, err := labels.Parse(s.LabelSelector); err != nil {
		return fmt.Errorf("--watch-label-selector=%s: %w", s.LabelSelector, err)
	}
	switch {
	case shards && s.Shards < 1:
		return fmt.Errorf("--shards=%d: must be at least 1", s.Shards)
	case shardKey && !shards:
		return errors.New("--shard-key needs --shards")
	case shards && s.LeaderElection:
		return errors.New("--shards excludes --leader-elect: use one or the other")
	case (shards || s.LeaderElection) && s.LeaseName == "":
		return errors.New("--shards and --leader-elect need --lease: a name that all replicas share, and that no other program uses")
	case s.LeaseName != "" && !shards && !s.LeaderElection:
		return errors.New("--lease needs --shards or --leader-elect")
	}
	return nil
}

const usage = `Usage: %[1]s [flags]
       %[1]s uninstall [flags], after which nothing of the operator is left in the cluster

Flags:
%[2]s
The variables KOPF_RUN_* of Kopf for Python, such as KOPF_RUN_NAMESPACES, set flags that are not given.

Exit codes:
  0  it ended as requested
  1  something failed; standard error says what
  2  the flags are wrong, or contradict each other
`
