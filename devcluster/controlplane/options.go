package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/kopf-dev/kopf/devcluster/controlplane/internal/controllers"
)

// options are the options of the command line.
type options struct {
	dataDir   string
	port      int
	context   string
	ephemeral bool
	guard     bool
	node      bool
	copied    bool
	gates     string
	verbosity int
	version   bool
}

// errHelp means that the usage was requested and printed.
var errHelp = pflag.ErrHelp

func parseOptions(args []string, usage io.Writer) (options, error) {
	var o options
	fs := pflag.NewFlagSet("controlplane", pflag.ContinueOnError)
	fs.SetOutput(usage)
	fs.Usage = func() {
		_, _ = fmt.Fprintf(usage, "A Kubernetes control plane for development in one process.\n\nUsage:\n  controlplane --data-dir DIR [flags]\n\nFlags:\n%s", fs.FlagUsages())
	}
	fs.StringVar(&o.dataDir, "data-dir", "", "directory of the data, the certificates, the kubeconfig and the log")
	fs.IntVar(&o.port, "port", 0, "port on 127.0.0.1; 0 for the port of the last start, or else a free one")
	fs.StringVar(&o.context, "context", "dev", "name of the context in the kubeconfig")
	fs.BoolVar(&o.ephemeral, "ephemeral", false, "delete the data directory at the end; defaults to a temporary one")
	fs.BoolVar(&o.guard, "guard", false, "exit when standard input closes, as it does when the parent process exits")
	fs.BoolVar(&o.node, "node", true, "simulate a node, on which pods become Running or Completed without any container")
	fs.BoolVar(&o.copied, "copy", false, "be a copy of another cluster: store the objects that come on the socket load.sock in the data directory, "+
		"run neither a node nor controllers, but the controller of namespaces, and connect to no webhook or other server")
	fs.StringVar(&o.gates, "feature-gates", "", "features of the API server to enable or disable, such as ShardedListAndWatch=true")
	fs.IntVar(&o.verbosity, "v", 0, "verbosity of the log")
	fs.BoolVar(&o.version, "version", false, "print the version of Kubernetes and exit")
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	switch {
	case fs.NArg() > 0:
		return o, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case o.version:
		return o, nil
	case o.dataDir == "" && !o.ephemeral:
		return o, errors.New("--data-dir or --ephemeral is required")
	case o.port < 0 || o.port > 65535:
		return o, fmt.Errorf("invalid port %d", o.port)
	}
	return o, nil
}

// selected returns which controllers run.
func (o options) selected() controllers.Selection {
	switch {
	case o.copied:
		return controllers.NamespacesOnly
	case o.node:
		return controllers.WithSimulatedNode
	default:
		return controllers.All
	}
}
