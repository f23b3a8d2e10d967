package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxTypos is the maximal number of edits between a mistyped word and the one that is meant.
const maxTypos = 2

// didYouMean returns the end of an error message that suggests the words that a mistyped one
// may mean. It is empty if there are none.
func didYouMean(word string, known []string) string {
	var close []string
	for _, k := range known {
		// A short word is close to every other one.
		if d := edits(word, k); d > 0 && d <= min(maxTypos, len(word)/2) || len(word) > 2 && strings.HasPrefix(k, word) {
			close = append(close, k)
		}
	}
	if len(close) == 0 {
		return ""
	}
	slices.SortStableFunc(close, func(a, b string) int { return edits(word, a) - edits(word, b) })
	return fmt.Sprintf("; did you mean %s?", strings.Join(slices.Compact(close), " or "))
}

// edits returns the number of insertions, deletions, replacements and swaps of neighbours
// that turn one word into another (the optimal string alignment distance).
func edits(a, b string) int {
	var before []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// addCommands adds subcommands to a command that does nothing without one of them.
func addCommands(cmd *cobra.Command, commands ...*cobra.Command) {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(commands...)
}

func unknownCommand(cmd *cobra.Command, name string) error {
	return usagef("unknown command %q for %q%s", name, cmd.CommandPath(), didYouMean(name, commandNames(cmd)))
}

// commandNames returns the names and aliases of the subcommands.
func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(append(names, c.Name()), c.Aliases...)
		}
	}
	return names
}

// explainFlagError adds suggestions to the error of an unknown flag.
func explainFlagError(cmd *cobra.Command, err error) error {
	// The flags of an unknown command are unknown, too.
	if cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
		return unknownCommand(cmd, cmd.Flags().Arg(0))
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return err
	}
	var flags []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			flags = append(flags, "--"+f.Name)
		}
	})
	name := "--" + unknown.GetSpecifiedName()
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		name, _, _ = strings.Cut("--"+letters, "=") // -cluster for --cluster
		if !slices.Contains(flags, name) {
			return err
		}
		return fmt.Errorf("%w; did you mean %s?", err, name)
	}
	return fmt.Errorf("%w%s", err, didYouMean(name, flags))
}

// newHelpCommand returns the command kopf help, which fails for unknown topics.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  kopf help run\n  kopf help cluster create",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, c := range about.Commands() {
				if c.IsAvailableCommand() {
					names = append(names, c.Name()+"\t"+c.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil {
				return &usageError{err}
			}
			if len(rest) > 0 {
				return usagef("unknown help topic %q%s", strings.Join(args, " "), didYouMean(rest[0], commandNames(about)))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
