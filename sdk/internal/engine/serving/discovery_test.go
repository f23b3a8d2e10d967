package serving

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/engine/peers"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

func TestDiscovery_UndiscoverableGroupKeepsKnownResources(t *testing.T) {
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
	for _, r := range withUndiscoverable(found, before) {
		got = append(got, r.Key())
	}
	want := []string{"b.v2.half.dev", "d.v1.up.dev", "a.v1.down.dev", "b.v1.half.dev", "c.v2.half.dev"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDiscovery_ShortPauseRelistsObjects(t *testing.T) {
	s := testStreams(t, &handlers.Registry{}, noProcessing)
	n := NewNamespaces(nil, core.NewWakeup())
	p := peers.NewPauses(s.deps, n.changed)
	d := NewDiscovery(s.deps, s, nil, n, peers.NewPeerings(s.deps, p, "me", false, s.memories.NewTerm), core.NoPasses)
	request := peers.PauseKey{Kind: inspect.PauseRequest}
	p.Add(request, inspect.Pause{})
	if _, reason := p.Remove(request); reason != "" { // removed before the discovery noticed the pause
		t.Error(reason)
	}
	d.adjustStreams(t.Context())
	if !s.relisting {
		t.Error("the objects are not listed again, though events were dropped during the pause")
	}
	s.relisting = false
	d.adjustStreams(t.Context())
	if s.relisting {
		t.Error("the objects are listed again without a pause")
	}
}

func TestDiscovery_FailedScanIsRepeated(t *testing.T) {
	scans := func(failures int) (n int) {
		for number, more := 0, true; more; n++ {
			var err error
			if n < failures {
				err = errors.New("gone for a while")
			}
			number, more = nextScan(number, err)
		}
		return n
	}
	for failures, want := range map[int]int{0: len(rescanDelays), 3: len(rescanDelays), 20: 21} {
		if got := scans(failures); got != want {
			t.Errorf("%d scans if %d fail; want %d", got, failures, want)
		}
	}
}
