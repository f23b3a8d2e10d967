package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set in releases. If it is empty, the version of the main module is used.
var version string

// buildInfo is the output of kopf version.
type buildInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func readBuildInfo() buildInfo {
	b := buildInfo{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if b.Version == "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func (b buildInfo) String() string {
	text := "kopf " + b.Version
	if b.Commit != "" {
		text += " (" + b.Commit[:min(12, len(b.Commit))] + ", " + b.Time + ")"
	}
	return text + " " + b.Go + " " + b.Platform
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Example:           "  kopf version\n  kopf version -o json",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuildInfo()
			switch output {
			case "":
				_, err := fmt.Fprintln(cmd.OutOrStdout(), b)
				return err
			case "json":
				return json.NewEncoder(cmd.OutOrStdout()).Encode(b)
			}
			return usagef("unknown output format %q; use json, or omit the flag", output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json")
	completeWith(cmd, "output", "json")
	return cmd
}

// completeWith completes a flag with the values.
func completeWith(cmd *cobra.Command, flag string, values ...string) {
	registerCompletion(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

func registerCompletion(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the flag is not defined: a bug in this package
	}
}
