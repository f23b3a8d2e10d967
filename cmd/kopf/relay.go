package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/tunnel/relay"
)

// newRelayCommand returns the command that runs in the pod of --webhook=relay.
func newRelayCommand() *cobra.Command {
	var listen, control string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "relay",
		Short: "Carry admission reviews from a pod to kopf dev",
		Long: `Carry the connections of API servers from a pod to kopf dev or kopf run, which start it with
--webhook=relay and reach its control port by a port-forward. It sees only their TLS.`,
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runRelay(cmd, listen, control, idle)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", ":8443", "the address for the connections of API servers")
	cmd.Flags().StringVar(&control, "control", "127.0.0.1:8444", "the address for the port-forward; reachable from the pod only")
	cmd.Flags().DurationVar(&idle, "idle", 0, "end after this time without a port-forward; 0 to run on")
	return cmd
}

func runRelay(cmd *cobra.Command, listen, control string, idle time.Duration) error {
	ctx := cmd.Context()
	public, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	private, err := new(net.ListenConfig).Listen(ctx, "tcp", control)
	if err != nil {
		return errors.Join(fmt.Errorf("--control: %w", err), public.Close())
	}
	logger := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	logger.Info("The relay is listening", "public", public.Addr(), "control", private.Addr())
	server := &relay.Server{Public: public, Control: private, Idle: idle, Logger: logger}
	err = server.Run(ctx)
	if errors.Is(err, relay.ErrIdle) || interruption(ctx) != nil && errors.Is(err, context.Cause(ctx)) {
		logger.Info("The relay ends", "reason", err)
		return nil
	}
	return err
}
