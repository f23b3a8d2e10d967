package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"
)

// execute runs a command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	return report(ctx, cmd, err, stderr)
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "kopf",
		Short: "Write Kubernetes operators, and nothing around them",
		Long: `Kopf builds and runs Kubernetes operators from packages of handlers.

All you need is a package with a function Register(*kopf.Registry): kopf dev shows what it
does while you write it, and kopf run runs it. Neither needs a cluster: without one, kopf
starts a real control plane on this machine.

` + exitCodes,
		Version:       readBuildInfo().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRun: func(cmd *cobra.Command, _ []string) {
			if cmd.Annotations == nil {
				cmd.Annotations = make(map[string]string)
			}
			cmd.Annotations[ranAnnotation] = "yes"
			verbose, _ := cmd.Flags().GetBool("verbose") // false for commands without the flag
			debug, _ := cmd.Flags().GetBool("debug")
			libraries.verbose.Store(verbose || debug)
		},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version")
	root.SetFlagErrorFunc(explainFlagError)
	root.SetHelpCommand(newHelpCommand())
	for _, g := range commandGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, c := range g.commands {
			c.GroupID = g.id
		}
		addCommands(root, g.commands...)
	}
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	// For kopf itself and its releases, not for users.
	addCommands(root, newRelayCommand(), newManCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			addCommands(c)
		}
	}
	return root
}

const groupOther = "other"

// commandGroup is a section of the list of commands.
type commandGroup struct {
	id, title string
	commands  []*cobra.Command
}

// commandGroups returns the commands for users, in the order of their use.
func commandGroups() []commandGroup {
	return []commandGroup{
		{"develop", "Write an operator:", []*cobra.Command{newInitCommand(), newDevCommand(), newRunCommand(), newPlanCommand(), newCRDCommand(), newClusterCommand(), newCleanupCommand(), newMCPCommand()}},
		{"deploy", "Deploy an operator:", []*cobra.Command{newBuildCommand(), newManifestsCommand(), newUninstallCommand()}},
		{"operate", "Work with a running operator:", []*cobra.Command{
			newAttachCommand(), newGetCommand(), newRetryCommand(), newRehandleCommand(), newFreezeCommand(), newResumeCommand(), newPeersCommand(),
		}},
		{groupOther, "Other commands:", []*cobra.Command{newVersionCommand()}},
	}
}
