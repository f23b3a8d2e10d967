package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/mcpserver"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newMCPCommand() *cobra.Command {
	f := operatorFlags{dev: true} // a deployed operator gives way
	var attach bool
	cmd := &cobra.Command{
		Use:   "mcp PACKAGE... | mcp --attach [ADDRESS]",
		Short: "Serve a development session over the Model Context Protocol",
		Long: `Build and run an operator as kopf dev does, and serve its state and actions by the Model Context
Protocol on standard input and output: for coding assistants, and for programs of yours.

The tools tell the state, the errors of the build, the objects, why a handler was called or was not,
its attempts, and the log, and wait until everything is handled. In development clusters, they also
apply manifests, retry, rebuild, and pause. The session outlives crashes of the operator, and ends
with standard input.

With --attach, the operator is one that runs already: that of the project of the current folder, the
only one on this machine, or the one at an address, as for kopf attach. There is no build then.

The flags are those of kopf dev. Standard output is for the protocol only.

` + exitCodes,
		Example: `  # For a client that is configured with a command line
  kopf mcp ./handlers --apply handlers/

  # Look at the operator that kopf dev runs in another terminal
  kopf mcp --attach`,
		Args: func(cmd *cobra.Command, args []string) error {
			if attach {
				return cobra.MaximumNArgs(1)(cmd, args)
			}
			return wantPackages(cmd, args)
		},
		ValidArgsFunction: completeFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range notOfMCP {
				if cmd.Flags().Changed(name) {
					return usagef("--%s is about what kopf dev prints; standard output is for the protocol here", name)
				}
			}
			if attach {
				return attachMCP(cmd, args)
			}
			if err := f.check(cmd); err != nil {
				return err
			}
			return develop(cmd, &f, args, func(ctx context.Context, session *runner.Session) error {
				return serveMCP(ctx, cmd, session)
			})
		},
	}
	f.add(cmd, "plain", "json")
	f.addReload(cmd)
	cmd.Flags().BoolVar(&attach, "attach", false, "serve an operator that runs already, rather than building one")
	for _, name := range notOfMCP {
		cmd.Flags().Lookup(name).Hidden = true
	}
	return cmd
}

// notOfMCP are output flags of kopf dev. kopf mcp accepts them only to explain that it prints nothing.
var notOfMCP = append([]string{"until", "timeout", "log-format", "quiet"}, logLineFlags...)

// attachMCP serves an operator that another process runs.
func attachMCP(cmd *cobra.Command, args []string) error {
	flags := attachFlags{allowActions: true, choice: operatorChoice{ways: []string{"ADDRESS"}}} // developmentOnly decides
	options, err := flags.attachOptions(cmd, args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		local := &localOperator{choice: flags.choice, address: options.Address}
		options.Once = false // the operator may be built again
		options.Client = inspect.NewClient(local.dial, "")
		options.Address = "this machine"
	}
	attachment, err := runner.NewAttachment(options)
	if err != nil {
		return usagef("%w", err)
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- attachment.Run(ctx)
		cancel()
	}()
	err = serveMCP(ctx, cmd, attachment)
	cancel()
	return errors.Join(err, <-ended, interruption(cmd.Context()))
}

// serveMCP serves a session until standard input ends.
func serveMCP(ctx context.Context, cmd *cobra.Command, source mcpserver.Source) error {
	server := mcpserver.New(source, mcpserver.Options{Version: readBuildInfo().String(), MayAct: developmentOnly})
	return server.Run(ctx, &mcp.IOTransport{Reader: io.NopCloser(cmd.InOrStdin()), Writer: unclosed{cmd.OutOrStdout()}})
}

// unclosed is a writer that is not closed by its user.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// developmentOnly returns an error unless the cluster is one to develop with.
func developmentOnly(s *runner.State) error {
	c := s.Cluster
	switch {
	case c.Server == "":
		return errors.New("the cluster is not ready yet")
	case isProvided(c), devcluster.IsDevelopment(c.Context, c.Server):
		return nil
	}
	return fmt.Errorf("the cluster at %s does not look like a development cluster; programs may change those only", printable.Line(c.Server))
}
