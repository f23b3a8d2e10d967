package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithoutMetadata_DropsNamesAndPrefixes(t *testing.T) {
	type tree = map[string]any
	essence := func(labels, annotations tree) tree {
		return tree{"spec": tree{"x": "y"}, "metadata": tree{"labels": labels, "annotations": annotations}}
	}
	names := []string{"sharding.fluxcd.io/key", "shard.alpha.sharding.timebertt.dev/", "plain"}
	before := essence(
		tree{"app": "a", "sharding.fluxcd.io/key": "1", "shard.alpha.sharding.timebertt.dev/ring": "pod-1", "plain": "p"},
		tree{"sharding.fluxcd.io/keyed": "stays", "shard.alpha.sharding.timebertt.dev": "stays"},
	)
	want := essence(tree{"app": "a"}, tree{"sharding.fluxcd.io/keyed": "stays", "shard.alpha.sharding.timebertt.dev": "stays"})
	if diff := cmp.Diff(want, WithoutMetadata(before, names)); diff != "" {
		t.Error(diff)
	}
	if len(before["metadata"].(tree)["labels"].(tree)) != 4 {
		t.Error("the essence itself has changed")
	}
	only := tree{"spec": tree{"x": "y"}, "metadata": tree{"labels": tree{"plain": "p"}}}
	if diff := cmp.Diff(tree{"spec": tree{"x": "y"}}, WithoutMetadata(only, names)); diff != "" {
		t.Error(diff)
	}
	if WithoutMetadata(nil, names) != nil {
		t.Error("no essence becomes one")
	}
}
