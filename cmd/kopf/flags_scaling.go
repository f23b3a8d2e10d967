package main

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
)

// scalingFlags are the flags of operators that handle only some of the objects, or that have several replicas. The
// operator has the same flags.
type scalingFlags struct {
	labelSelector string
	leaderElect   bool
	shards        int
	shardKey      string
	lease         string
}

// add adds the flags, with the descriptions that operators have.
func (f *scalingFlags) add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.StringVar(&f.labelSelector, "watch-label-selector", "", "handle only objects with these labels, such as 'tier=gold'")
	set.BoolVar(&f.leaderElect, "leader-elect", false, "one replica handles the objects while the others stand by (needs --lease)")
	set.IntVar(&f.shards, "shards", 0, "divide the objects into this many shards among all replicas (needs --lease)")
	set.StringVar(&f.shardKey, "shard-key", "uid", "how objects are assigned to shards: by uid or by namespace")
	set.StringVar(&f.lease, "lease", "", "the name that all replicas of this operator share, as NAME or NAMESPACE/NAME")
	completeWith(cmd, "shard-key", "uid", "namespace")
}

// check rejects flags that the operator would reject, before it is built.
func (f *scalingFlags) check(cmd *cobra.Command) error {
	if _, err := labels.Parse(f.labelSelector); err != nil {
		return usagef("--watch-label-selector=%s: %w", f.labelSelector, err)
	}
	shards := cmd.Flags().Changed("shards")
	switch {
	case shards && f.shards < 1:
		return usagef("--shards=%d: must be at least 1", f.shards)
	case cmd.Flags().Changed("shard-key") && !shards:
		return usagef("--shard-key needs --shards")
	case f.shardKey != "uid" && f.shardKey != "namespace":
		return usagef("--shard-key=%s: want uid or namespace", f.shardKey)
	case shards && f.leaderElect:
		return usagef("--shards excludes --leader-elect: use one or the other")
	case (shards || f.leaderElect) && f.lease == "":
		return usagef("--shards and --leader-elect need --lease: a name that all replicas share, and that no other program uses")
	case f.lease != "" && !shards && !f.leaderElect:
		return usagef("--lease needs --shards or --leader-elect")
	}
	return nil
}

// args returns the operator's flags.
func (f *scalingFlags) args(cmd *cobra.Command) []string {
	var args []string
	for _, name := range []string{"watch-label-selector", "leader-elect", "shards", "shard-key", "lease"} {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			args = append(args, "--"+name+"="+flag.Value.String())
		}
	}
	return args
}
