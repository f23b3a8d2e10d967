package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// peersInterval is how often kopf peers --watch reads the peering objects.
const peersInterval = 2 * time.Second

func newPeersCommand() *cobra.Command {
	var f peeringFlags
	var output string
	var watch bool
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "List the operators that know of each other",
		Long: `List the operators that take part in peering objects, and those who have frozen them: which of them acts
and which are paused, since when and why. Without --namespace, the peering objects of the whole
cluster and of all namespaces are listed.

` + exitCodes,
		Example: `  kopf peers
  kopf peers -n app --watch
  kopf peers -o json | jq '.[].peers[] | select(.state == "active").identity'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd, ""); err != nil {
				return err
			}
			if output != "" && output != "json" {
				return usagef("--output=%s: the only value is json", output)
			}
			return listAllPeers(cmd, &f, output == "json", watch)
		},
	}
	f.addScope(cmd, "", "only peering objects with this name")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json: print the list as JSON")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "print the list again whenever it changes")
	completeWith(cmd, "output", "json")
	return cmd
}

func listAllPeers(cmd *cobra.Command, f *peeringFlags, asJSON, watch bool) error {
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	client, err := f.connect()
	if err != nil {
		return fmt.Errorf("list the peers: %w", err)
	}
	defer client.Close()
	scope := f.scope()
	scope.All = len(f.namespaces) == 0
	before := ""
	for {
		objects, err := client.Find(ctx, scope)
		if ctx.Err() != nil && watch {
			return nil
		}
		if err != nil && (!watch || !errors.Is(err, peering.ErrNotFound)) {
			return fmt.Errorf("list the peers: %w", err)
		}
		now := time.Now()
		if shown := stateOf(objects, now); shown != before || !watch {
			if watch && before != "" && !asJSON {
				fmt.Fprintln(out)
			}
			before = shown
			if err := printPeers(out, objects, now, asJSON); err != nil {
				return err
			}
		}
		if !watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(peersInterval):
		}
	}
}

// stateOf returns a text that differs if the list does. The times of keep-alives do not count.
func stateOf(objects []*peering.Object, now time.Time) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s\n", o)
		for i := range o.Peers {
			p := &o.Peers[i]
			fmt.Fprintf(&b, "%q %d %s %q %v\n", p.Identity, p.Priority, peerState(o, p, now), p.Message, p.Pause != nil)
		}
	}
	return b.String() + "."
}

// peerState returns the state of a peer, which follows from the priorities.
func peerState(o *peering.Object, p *peering.Peer, now time.Time) inspect.PeerState {
	switch {
	case p.IsDead(now):
		return inspect.PeerGone
	case peering.IsActive(p, o.Peers, now):
		return inspect.PeerActive
	default:
		return inspect.PeerPaused
	}
}

func printPeers(w io.Writer, objects []*peering.Object, now time.Time, asJSON bool) error {
	if asJSON {
		text, err := json.MarshalIndent(describePeerings(objects, now), "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s\n", printable.JSON(text))
		return err
	}
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "PEERING\tIDENTITY\tPRIORITY\tSTATE\tSINCE\tSEEN\tWHY")
	for _, o := range objects {
		where := o.Name
		if o.Namespace != "" {
			where = o.Namespace + "/" + o.Name
		}
		if len(o.Peers) == 0 {
			fmt.Fprintf(table, "%s\t-\t\t\t\t\tno operators\n", printable.Line(where))
		}
		for i := range o.Peers {
			p := &o.Peers[i]
			state, since := peerState(o, p, now), p.Since
			why := p.Message
			if p.Pause != nil {
				since = p.Pause.Since
				why = strings.TrimSuffix("paused by "+strings.Join(p.Pause.By, ", ")+"; "+p.Message, "; ")
			}
			fmt.Fprintln(table, strings.Join([]string{
				printable.Line(where), printable.Line(p.Identity), strconv.Itoa(p.Priority), string(state), ago(since, now), ago(p.LastSeen, now), printable.Line(why),
			}, "\t"))
		}
	}
	return table.Flush()
}

// ago formats how long ago a time is; "-" if it is unknown.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return now.Sub(t).Truncate(time.Second).String()
}

// describedPeering is a peering object as JSON: as in the inspector, with records that have expired.
type describedPeering struct {
	inspect.Peering
	Peers []inspect.Peer `json:"peers"`
}

func describePeerings(objects []*peering.Object, now time.Time) []describedPeering {
	all := make([]describedPeering, len(objects))
	for i, o := range objects {
		all[i] = describedPeering{Peering: inspect.Peering{Kind: o.Kind, Group: o.Group, Namespace: o.Namespace, Name: o.Name, Exists: true}, Peers: []inspect.Peer{}}
		for j := range o.Peers {
			p := &o.Peers[j]
			one := inspect.Peer{
				Identity: p.Identity, Priority: p.Priority, State: peerState(o, p, now),
				Message: p.Message, Since: p.Since, LastSeen: p.LastSeen, Until: p.Deadline,
			}
			if p.Pause != nil {
				one.PausedSince, one.PausedBy = p.Pause.Since, p.Pause.By
			}
			all[i].Peers = append(all[i].Peers, one)
		}
	}
	return all
}
