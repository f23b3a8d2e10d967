package devcluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// normalGates returns feature gates in the form in which clusters remember them: sorted, without blanks, and
// with true or false. The error is [ErrInvalid].
func normalGates(gates string) (string, error) {
	if strings.TrimSpace(gates) == "" {
		return "", nil
	}
	var all []string
	for gate := range strings.SplitSeq(gates, ",") {
		name, value, _ := strings.Cut(gate, "=")
		name = strings.TrimSpace(name)
		enabled, err := strconv.ParseBool(strings.TrimSpace(value))
		if err != nil || name == "" {
			return "", &fault.Error{
				Kind: ErrInvalid, Message: fmt.Sprintf("invalid feature gate %q", gate),
				Next: "write feature gates as ShardedListAndWatch=true,Other=false",
			}
		}
		all = append(all, name+"="+strconv.FormatBool(enabled))
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ","), nil
}

// checkRunning returns an error if a running cluster has other feature gates than the options.
func (o Options) checkRunning(name, gates string) error {
	wanted, err := normalGates(o.FeatureGates)
	if err != nil || wanted == "" || wanted == gates {
		return err
	}
	runs := "without feature gates"
	if gates != "" {
		runs = "with the feature gates " + gates
	}
	return &fault.Error{
		Kind: ErrInvalid, Message: fmt.Sprintf("the cluster %q runs %s, not with %s", name, runs, wanted),
		Next: "stop it with: kopf cluster stop " + name + "; or use a new one with --ephemeral",
	}
}
