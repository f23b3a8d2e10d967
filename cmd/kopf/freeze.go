package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// Times of a freeze without a limit.
const (
	freezeLifetime = 60 * time.Second // duration of the freeze if the command is killed
	freezeRenewal  = 20 * time.Second
	freezePoll     = 2 * time.Second // interval of checks whether another command has ended the freeze
)

func newFreezeCommand() *cobra.Command {
	var f peeringFlags
	var priority int
	var lifetime secondsValue
	var message string
	var dev bool
	cmd := &cobra.Command{
		Use:   "freeze",
		Short: "Pause operators through peering",
		Long: `Pause the operators of a cluster, in Go or in Python, that take part in a peering object and have a
lower priority, or the same one. They stop their daemons and timers and handle no objects; when they
resume, they handle what has changed meanwhile. Handlers that are running end first.

With --lifetime, the operators resume after that time at the latest; kopf resume ends it earlier.
Without it, they stay paused until kopf resume or ctrl+c, and for a minute if this command is
killed.

` + exitCodes,
		Example: `  # Until ctrl+c
  kopf freeze --message="restoring the database"

  # For ten minutes, the operators of a namespace
  kopf freeze -n app --lifetime=600

  # With a peering object of the operators' own
  kopf freeze --peering=example --priority=200 --lifetime=1h`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd, "FREEZE"); err != nil {
				return err
			}
			if dev && !cmd.Flags().Changed("priority") {
				priority = peering.DevPriority
			}
			return freeze(cmd, &f, peering.Peer{Identity: f.identity(), Priority: priority, Lifetime: time.Duration(lifetime), Message: message})
		},
	}
	f.addScope(cmd, peering.DefaultName, "the name of the peering object")
	f.addID(cmd)
	cmd.Flags().IntVarP(&priority, "priority", "p", peering.FreezePriority, "pause operators with a lower priority, and with the same one")
	cmd.Flags().BoolVar(&dev, "dev", false, "development: --priority=666, which pauses operators of kopf dev, too")
	cmd.Flags().VarP(&lifetime, "lifetime", "t", "how long the operators are paused at most (default: until kopf resume or ctrl+c)")
	cmd.Flags().StringVarP(&message, "message", "m", "", "the reason, which the peering shows")
	return cmd
}

// freeze writes the record of a peer. If that has no lifetime, it stays until the context ends.
func freeze(cmd *cobra.Command, f *peeringFlags, peer peering.Peer) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	client, objects, err := f.find(ctx)
	if err != nil {
		return fmt.Errorf("freeze: %w", err)
	}
	defer client.Close()
	stays := peer.Lifetime == 0
	if stays {
		peer.Lifetime = freezeLifetime
	}
	peer.Since = time.Now()
	if err := writeAll(ctx, client, objects, peer); err != nil {
		if stays {
			err = errors.Join(err, release(ctx, client, objects, peer.Identity))
		}
		return fmt.Errorf("freeze: %w", err)
	}
	for _, o := range objects {
		printFrozen(out, o, &peer)
	}
	if !stays {
		fmt.Fprintf(out, "until %s; %s ends it earlier\n", time.Now().Add(peer.Lifetime).Format(time.TimeOnly), f.resumeCommand())
		return nil
	}
	fmt.Fprintf(out, "until %s, or ctrl+c here\n", f.resumeCommand())
	err = hold(ctx, client, objects, peer)
	switch {
	case errors.Is(err, errResumed):
		fmt.Fprintln(out, "resumed by another command")
		err = nil
	case err == nil:
		fmt.Fprintln(out, "resumed")
	}
	return errors.Join(err, release(ctx, client, objects, peer.Identity))
}

// resumeCommand returns the command that ends the freeze.
func (f *peeringFlags) resumeCommand() string {
	command := "kopf resume"
	for _, n := range f.namespaces {
		command += " -n " + n
	}
	if f.peering != peering.DefaultName {
		command += " --peering=" + f.peering
	}
	if f.id != "" {
		command += " --id=" + f.id
	}
	return command
}

// printFrozen prints which operators a freeze pauses, and which it does not.
func printFrozen(w io.Writer, o *peering.Object, peer *peering.Peer) {
	d := peering.Decide(o.Peers, peer.Identity, peer.Priority, time.Now())
	fmt.Fprintf(w, "%s is frozen by %s, priority %d\n", printable.Line(o.String()), printable.Line(peer.Identity), peer.Priority)
	if paused := append(d.Lower, d.Equal...); len(paused) > 0 {
		fmt.Fprintf(w, "  paused: %s\n", listPeers(paused))
	} else {
		fmt.Fprintf(w, "  no operator takes part in it yet; one that starts later with the same or a lower priority is paused\n")
	}
	if len(d.Higher) > 0 {
		fmt.Fprintf(w, "  not paused, as their priority is higher: %s\n", listPeers(d.Higher))
	}
}

func listPeers(peers []peering.Peer) string {
	texts := make([]string, len(peers))
	for i := range peers {
		texts[i] = fmt.Sprintf("%s (priority %d)", printable.Line(peers[i].Identity), peers[i].Priority)
	}
	return strings.Join(texts, ", ")
}

// writeAll writes a record into all objects.
func writeAll(ctx context.Context, client *peering.Client, objects []*peering.Object, peer peering.Peer) error {
	peer.LastSeen = time.Now()
	for _, o := range objects {
		if err := client.Write(ctx, o, &peer); err != nil {
			return err
		}
	}
	return nil
}

// errResumed ends a freeze whose record was removed.
var errResumed = errors.New("the record was removed")

// hold renews a record until the context ends or the record is removed.
func hold(ctx context.Context, client *peering.Client, objects []*peering.Object, peer peering.Peer) error {
	ticker := time.NewTicker(freezePoll)
	defer ticker.Stop()
	for renewed := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		var failed error
		for _, o := range objects {
			switch err := client.Refresh(ctx, o); {
			case err != nil:
				failed = err
			case o.Peer(peer.Identity) == nil:
				return errResumed
			}
		}
		if failed == nil && time.Since(renewed) >= freezeRenewal {
			if failed = writeAll(ctx, client, objects, peer); failed == nil {
				renewed = time.Now()
			}
		}
		if failed != nil && ctx.Err() == nil && time.Since(renewed) >= freezeLifetime {
			return fmt.Errorf("freeze: the record could not be renewed for %s, and the operators have resumed: %w", freezeLifetime, failed)
		}
	}
}

// release removes a record from all objects, also after the context has ended.
func release(ctx context.Context, client *peering.Client, objects []*peering.Object, identity string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	var errs []error
	for _, o := range objects {
		errs = append(errs, client.Write(ctx, o, &peering.Peer{Identity: identity}))
	}
	return errors.Join(errs...)
}
