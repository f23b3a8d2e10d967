package engine

import (
	"context"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/index"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// quiet is an operator that does nothing.
func quiet(t *testing.T) *operator {
	o := &operator{config: Config{Registry: &handlers.Registry{}}}
	o.ensemble = newEnsemble(o)
	o.queue = queue.New(t.Context(), queue.Options{
		Process: func(context.Context, *queue.Batch) *queue.Later { return nil },
	})
	t.Cleanup(func() {
		if err := o.queue.Stop(); err != nil {
			t.Error(err)
		}
	})
	return o
}

func TestAChangedDefinitionIsServedAsItIsNow(t *testing.T) {
	o := quiet(t)
	before := resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Namespaced: true}
	d := dimension{before.Key(), ""}
	o.ensemble.servers[d.resource] = o.server(&before)
	o.ensemble.streams[d] = &stream{listed: true}
	same := before
	served := o.ensemble.server(d.resource)
	o.ensemble.adjust(t.Context(), []resources.Resource{same}, []string{""})
	if o.ensemble.server(d.resource) != served {
		t.Error("nothing has changed, but the server has")
	}
	now := before
	now.Subresources = []string{"status"}
	o.ensemble.adjust(t.Context(), []resources.Resource{now}, []string{""})
	if !o.ensemble.server(d.resource).resource.HasSubresource("status") {
		t.Error("it is not known that the status is a subresource now")
	}
}

func TestObjectsThatVanishedDuringAPauseAreForgotten(t *testing.T) {
	o := quiet(t)
	key := func(uid string) queue.Key { return queue.Key{Resource: "kex", Object: uid} }
	o.memories.recall(key("there"), "ns", true, nil)
	o.memories.recall(key("gone"), "ns", true, nil)
	o.memories.recall(key("elsewhere"), "other", true, nil)
	origin, fresh := index.Origin{Resource: "kex", Namespace: "ns"}, func() any { return new([3]uintptr) }
	for _, uid := range []string{"only indexed", "only indexed and gone"} {
		o.memories.memo(origin, uid, fresh)
	}
	var first firstListing
	first.note(key("only indexed"))
	first.note(key("there"))
	first.note(key("new"))
	keys, ok := first.end()
	if !ok {
		t.Fatal("the first listing is none")
	}
	o.ensemble.forget(dimension{"kex", "ns"}, keys)
	for uid, want := range map[string]bool{"there": true, "gone": false, "elsewhere": true} {
		if got := o.memories.find(key(uid)) != nil; got != want {
			t.Errorf("%s: remembered is %t", uid, got)
		}
	}
	if n := o.memories.onlyIndexed(); n != 1 {
		t.Errorf("%d objects that are only indexed are known of one", n)
	}
	first.note(key("later"))
	if keys, ok := first.end(); ok || keys != nil {
		t.Error("a later listing is taken for the first")
	}
}
