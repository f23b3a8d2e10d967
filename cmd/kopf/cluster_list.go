package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/sdk/printable"
)

func newClusterListCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the clusters",
		Long:    "List the clusters that kopf manages, running or not. OWNER is the process that the cluster stops with; clusters without an owner run until they are stopped. PROJECT is the folder of the module that uses the cluster by default; clusters without a project are used by their name.",
		Example: `  kopf cluster list
  kopf cluster list -o json | jq -r '.[] | select(.state == "running").name'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return usagef("unknown output format %q; use json, or omit the flag for a table", output)
			}
			infos, err := devcluster.List(cmd.Context())
			if err != nil {
				return err
			}
			if output == "json" {
				return printClustersJSON(cmd.OutOrStdout(), infos)
			}
			if len(infos) == 0 {
				_, err := fmt.Fprintln(cmd.ErrOrStderr(), "No clusters. Create one with: kopf cluster create")
				return err
			}
			return printClustersTable(cmd.OutOrStdout(), infos, time.Now())
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json")
	completeWith(cmd, "output", "json")
	return cmd
}

func printClustersJSON(w io.Writer, infos []devcluster.Info) error {
	if infos == nil {
		infos = []devcluster.Info{} // encode an empty list, not null
	}
	text, err := json.MarshalIndent(infos, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(printable.JSON(text), '\n'))
	return err
}

func printClustersTable(w io.Writer, infos []devcluster.Info, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	if _, err := fmt.Fprintln(t, "NAME\tPROVIDER\tSTATE\tVERSION\tSERVER\tOWNER\tAGE\tPROJECT"); err != nil {
		return err
	}
	for _, i := range infos {
		owner, age := "<none>", "<none>"
		if i.Owner != 0 {
			owner = strconv.Itoa(i.Owner)
		}
		if i.Started != nil {
			age = duration.HumanDuration(now.Sub(*i.Started))
		}
		row := []string{i.Name, i.Provider, string(i.State), i.Version, i.Server, owner, age, i.Project}
		for n, cell := range row {
			row[n] = orNone(strings.ReplaceAll(printable.Line(cell), "\t", " "))
		}
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return t.Flush()
}

// orNone replaces an empty cell, as kubectl does.
func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}
