package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestResourcesOfAServerThatIsDownAreStillServed(t *testing.T) {
	res := func(group, version, plural string) resources.Resource {
		return resources.Resource{Group: group, Version: version, Plural: plural}
	}
	before := []resources.Resource{
		res("down.dev", "v1", "a"), res("half.dev", "v1", "b"), res("half.dev", "v2", "b"), res("half.dev", "v2", "c"), res("up.dev", "v1", "gone"),
	}
	down := errors.New("it is down")
	found := kube.Discovery{
		Resources: []resources.Resource{res("half.dev", "v2", "b"), res("up.dev", "v1", "d")},
		Failed:    map[string]error{"down.dev": down, "half.dev/v1": down, "half.dev/v2": down},
	}
	var got []string
	for _, r := range withFailed(found, before) {
		got = append(got, r.Key())
	}
	want := []string{"b.v2.half.dev", "d.v1.up.dev", "a.v1.down.dev", "b.v1.half.dev", "c.v2.half.dev"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
