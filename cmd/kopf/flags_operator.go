package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/environ"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// operatorFlags are the flags of kopf dev and kopf run.
type operatorFlags struct {
	cluster, context, kubeconfig string
	ephemeral, yes               bool
	featureGates                 string
	proxy                        bool

	namespaces    []string
	allNamespaces bool

	inspect, liveness string
	asDeployed        bool
	noScanning        bool

	webhooks        webhookFlags
	scaling         scalingFlags
	peering         string
	identity        string
	priority        int
	prioritySet     bool
	standalone, dev bool

	retryFailed, noReload, planReloads, crd bool // flags of sessions that rebuild the operator

	manifests []string
	until     string
	timeout   time.Duration
	report    string

	verbose, quiet, debug bool
	logFormat             string
	logFormats            []string // the valid values of logFormat
	logPrefix             bool
	noLogPrefix           bool
	logRefKey             string
}

// settled is the only value of --until.
const settled = "settled"

// defaultTimeout is the default of --timeout.
const defaultTimeout = 5 * time.Minute

// add adds the flags. Flags that the operator also has are described in the same words. The
// first log format is the default, and so is the value of dev.
func (f *operatorFlags) add(cmd *cobra.Command, logFormats ...string) {
	f.logFormats = logFormats
	f.addCluster(cmd)
	set := cmd.Flags()
	set.BoolVar(&f.ephemeral, "ephemeral", false, "start a new embedded cluster and delete its data at the end")
	addFeatureGates(cmd, &f.featureGates)
	set.BoolVar(&f.proxy, "proxy", false, "pass HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY on to the operator")
	set.StringArrayVarP(&f.namespaces, "namespace", "n", nil, "a namespace to serve, or a pattern such as 'myapp-*,!*-pr-*' (repeatable)")
	set.BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "serve the whole cluster")
	set.BoolVar(&f.noScanning, "no-scanning", false, "look for resources and namespaces only at the start, and do not watch them")
	set.StringVarP(&f.peering, "peering", "P", "", "the name of the peering object, which must exist (default: the object \"default\" if it exists)")
	set.IntVarP(&f.priority, "priority", "p", 0, "the priority of the operator: of all in a peering, the highest one acts")
	set.BoolVar(&f.standalone, "standalone", false, "ignore other operators: no peering")
	set.BoolVar(&f.dev, "dev", f.dev, "development: --priority=666, and others act 10s after this operator is killed")
	set.StringVar(&f.identity, "identity", "", "the name of the operator in the peering (default: $POD_ID, or one with the user, the host and the time)")
	set.BoolVar(&f.asDeployed, "as-deployed", false, "give the operator only the permissions that kopf manifests writes for it")
	set.StringVarP(&f.liveness, "liveness", "L", "", "serve a liveness endpoint at this URL, such as http://0.0.0.0:8080/healthz")
	f.webhooks.add(cmd)
	f.scaling.add(cmd)
	set.StringArrayVar(&f.manifests, "apply", nil, "a manifest, or a folder of manifests, to apply before the start (repeatable)")
	set.StringVar(&f.until, "until", "", "settled: end when everything is handled")
	set.DurationVar(&f.timeout, "timeout", defaultTimeout, "the limit for --until, from the operator's start; 0 for no limit")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "show the framework's own actions")
	set.BoolVarP(&f.quiet, "quiet", "q", false, "show only warnings and errors")
	set.BoolVarP(&f.debug, "debug", "d", false, "show everything, the traffic with the cluster included")
	set.StringVar(&f.logFormat, "log-format", logFormats[0], "how logs look: "+anyOf(logFormats))
	set.BoolVar(&f.logPrefix, "log-prefix", true, "begin messages about an object with its name; in json only if it is given")
	set.BoolVar(&f.noLogPrefix, "no-log-prefix", false, "do not begin messages with the name of the object")
	set.StringVar(&f.logRefKey, "log-refkey", "object", "the key of an object's identity in json logs")

	registerCompletion(cmd, "namespace", f.completeNamespaces)
	completeWith(cmd, "until", settled)
	completeWith(cmd, "log-format", logFormats...)
	if err := cmd.MarkFlagFilename("apply", "yaml", "yml", "json"); err != nil {
		panic(err) // the flag is not defined: a bug in this function
	}
}

// addCluster adds the flags that select a cluster.
func (f *operatorFlags) addCluster(cmd *cobra.Command) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.cluster, "cluster", devcluster.Auto, "the cluster: auto (the cluster of the project), embedded, k3d, context, or a name of kopf cluster list")
	set.StringVar(&f.context, "context", "", "the context of the kubeconfig to use (implies --cluster=context)")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "the kubeconfig file to use (implies --cluster=context)")
	set.BoolVar(&f.yes, "yes", false, "use a context that does not look like a development cluster")
	registerCompletion(cmd, "cluster", completeProvidersAndClusters)
	registerCompletion(cmd, "context", f.completeContexts)
	if err := cmd.MarkFlagFilename("kubeconfig"); err != nil {
		panic(err) // the flag is not defined: a bug in this function
	}
}

// completeFolders completes the packages of kopf dev, kopf run and kopf build.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// wantPackages rejects a command line of kopf dev, kopf run or kopf build without packages.
func wantPackages(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no package is named; try: %s ./handlers", cmd.CommandPath())
	}
	return nil
}

// check validates the flags and reads the manifests, so that errors are reported before anything is started.
func (f *operatorFlags) check(cmd *cobra.Command) error {
	var own []string
	if !slices.Contains(f.logFormats, "full") {
		own = []string{"log-format"} // the flag selects the format of the lines of kopf dev, and not the format of the log
	}
	if err := environ.Apply(cmd.Flags(), "RUN", own...); err != nil {
		return usagef("%w", err)
	}
	f.prioritySet = cmd.Flags().Changed("priority")
	switch {
	case slices.ContainsFunc(f.namespaces, func(n string) bool { return strings.TrimSpace(n) == "" }):
		return usagef("--namespace is empty: name one, or use --all-namespaces")
	case f.allNamespaces && len(f.namespaces) > 0:
		return usagef("--all-namespaces excludes --namespace: use one or the other")
	case f.standalone && f.peering != "":
		return usagef("--standalone excludes --peering: use one or the other")
	case f.quiet && (f.verbose || f.debug):
		return usagef("--quiet excludes --verbose and --debug: use one or the other")
	case f.until != "" && f.until != settled:
		return usagef("--until=%s: the only value is settled", f.until)
	case f.until == "" && cmd.Flags().Changed("timeout"):
		return usagef("--timeout needs --until=settled")
	case f.timeout < 0:
		return usagef("--timeout=%s: must not be negative", f.timeout)
	case !slices.Contains(f.logFormats, f.logFormat):
		return usagef("--log-format=%s: want %s", f.logFormat, anyOf(f.logFormats))
	}
	if err := f.checkAddresses(); err != nil {
		return err
	}
	if err := f.webhooks.check(); err != nil {
		return err
	}
	if err := f.scaling.check(cmd); err != nil {
		return err
	}
	if f.report != "" {
		if f.until == "" {
			return usagef("--report needs --until=settled")
		}
		if err := settlement.CheckReport(f.report); err != nil {
			return usagef("--report: %w", err)
		}
	}
	if err := f.checkCluster(cmd.Context()); err != nil {
		return err
	}
	if len(f.manifests) > 0 {
		if _, err := apply.Read(f.manifests); err != nil {
			return err
		}
	}
	return nil
}

// checkCluster rejects options that no cluster fits, and names of clusters that do not exist.
func (f *operatorFlags) checkCluster(ctx context.Context) error {
	o := f.options(nil)
	if err := o.Check(); err != nil {
		return err
	}
	if o.Name == "" || o.Ephemeral { // an ephemeral cluster is new
		return nil
	}
	_, err := devcluster.Get(ctx, o.Name)
	if !errors.Is(err, devcluster.ErrNotFound) {
		return err
	}
	names, err := clusterNames(ctx)
	if err != nil {
		return err
	}
	providers := []string{devcluster.Auto, devcluster.Embedded, devcluster.K3d, devcluster.Context}
	return usagef("--cluster=%s: want %s, or a name of kopf cluster list%s", o.Name, strings.Join(providers, ", "), didYouMean(o.Name, append(providers, names...)))
}

// checkAddresses rejects addresses that the operator would reject, before it is built.
func (f *operatorFlags) checkAddresses() error {
	if f.liveness != "" {
		const want = "--liveness: want an endpoint such as http://0.0.0.0:8080/healthz: "
		u, err := url.Parse(f.liveness)
		switch {
		case err != nil:
			return usagef(want+"%w", err)
		case u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !isPort(u.Port()):
			return usagef(want+"got %s", f.liveness)
		}
	}
	if f.inspect != "" {
		if _, err := inspect.Dial(f.inspect); err != nil { // Dial only parses the address
			return usagef("--inspect: %w", err)
		}
		if f.until != "" && isAnyPort(f.inspect) {
			return usagef("--inspect=%s: --until needs a fixed port", f.inspect)
		}
	}
	return nil
}

// isPort reports whether the port of a URL is valid or empty.
func isPort(port string) bool {
	_, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil
}

// isAnyPort reports whether the inspector is to choose a free port.
func isAnyPort(address string) bool {
	where, tcp := strings.CutPrefix(address, "tcp:")
	_, port, err := net.SplitHostPort(where)
	return tcp && err == nil && strings.Trim(port, "0") == ""
}

// anyOf joins words to "a, b or c".
func anyOf(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// scope returns the operator's flags for the handled objects, the liveness endpoint and the peering.
func (f *operatorFlags) scope(cmd *cobra.Command) []string {
	args := f.scaling.args(cmd)
	for _, n := range f.namespaces {
		args = append(args, "--namespace="+n)
	}
	if f.allNamespaces {
		args = append(args, "--all-namespaces")
	}
	if f.liveness != "" {
		args = append(args, "--liveness="+f.liveness)
	}
	if f.noScanning || f.asDeployed && onlyNamed(f.namespaces) {
		args = append(args, noScanning)
	}
	return append(args, f.peers()...)
}

// isShared reports whether the cluster is one of the user's own, where other operators may run.
func (f *operatorFlags) isShared() bool {
	return f.cluster == devcluster.Context || f.context != "" || f.kubeconfig != ""
}

// peers returns the operator's flags for the peering.
func (f *operatorFlags) peers() []string {
	var args []string
	if f.peering != "" {
		args = append(args, "--peering="+f.peering)
	}
	if f.prioritySet {
		args = append(args, "--priority="+strconv.Itoa(f.priority))
	}
	if f.standalone {
		args = append(args, "--standalone")
	}
	if f.identity != "" {
		args = append(args, "--identity="+f.identity)
	}
	if f.dev {
		args = append(args, "--dev")
	}
	return args
}

// keptProxies says which proxies of the environment the operator does not see. It is empty if there are none.
func (f *operatorFlags) keptProxies() string {
	var names []string
	for _, name := range runner.ProxyVariables {
		if name != "NO_PROXY" && cmp.Or(os.Getenv(name), os.Getenv(strings.ToLower(name))) != "" {
			names = append(names, name)
		}
	}
	if f.proxy || len(names) == 0 {
		return ""
	}
	return strings.Join(names, " and ") + " of this shell is for the connection to the cluster only; with --proxy, the handlers see it, too"
}

// logging returns the operator's flags for its log.
func (f *operatorFlags) logging(cmd *cobra.Command) []string {
	args := append(f.levels(), "--log-format="+f.logFormat)
	if cmd.Flags().Changed("log-prefix") && f.logPrefix {
		args = append(args, "--log-prefix")
	}
	if f.noLogPrefix || !f.logPrefix {
		args = append(args, "--no-log-prefix")
	}
	if cmd.Flags().Changed("log-refkey") {
		args = append(args, "--log-refkey="+f.logRefKey)
	}
	return args
}

func (f *operatorFlags) levels() []string {
	var args []string
	if f.verbose {
		args = append(args, "--verbose")
	}
	if f.quiet {
		args = append(args, "--quiet")
	}
	if f.debug {
		args = append(args, "--debug")
	}
	return args
}

// options returns the options of the cluster. Without a name, they select the cluster of the current folder's
// project.
func (f *operatorFlags) options(progress func(devcluster.Progress)) devcluster.Options {
	o := devcluster.Options{
		Provider: f.cluster, Context: f.context, Kubeconfig: f.kubeconfig,
		Ephemeral: f.ephemeral, FeatureGates: f.featureGates, LowPriority: f.dev, Yes: f.yes, Progress: progress,
	}
	switch f.cluster {
	case devcluster.Auto, devcluster.Embedded, devcluster.K3d, devcluster.Context, "":
		o.Project = currentProject()
	default:
		o.Provider, o.Name = devcluster.Auto, f.cluster
	}
	return o
}
