package serving

import (
	"context"
	"log/slog"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/engine/call"
	"github.com/kopf-dev/kopf/sdk/internal/engine/enginetest"
	"github.com/kopf-dev/kopf/sdk/internal/engine/memory"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/queue"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
)

// testStreams returns streams without a cluster. The function processes their queue.
func testStreams(t testing.TB, registry *handlers.Registry, process func(context.Context, *queue.Batch) *queue.Next) *Streams {
	t.Helper()
	d := enginetest.BareDeps(t, registry, slog.New(slog.DiscardHandler))
	d.Queue = queue.New(t.Context(), queue.Options{Process: process})
	t.Cleanup(func() {
		if err := d.Queue.Stop(); err != nil {
			t.Error(err)
		}
	})
	return NewStreams(d, &memory.Memories{}, &memory.DetachedDaemons{Background: t.Context()}, call.NewInvoker(d.Now, d.Sink, 0))
}

func noProcessing(context.Context, *queue.Batch) *queue.Next { return nil }

func TestStreams_ChangedDefinitionIsServed(t *testing.T) {
	s := testStreams(t, &handlers.Registry{}, noProcessing)
	before := resources.Resource{Group: "kopf.dev", Version: "v1", Plural: "kopfexamples", Namespaced: true}
	scope := resources.Scope{Resource: before.Key()}
	s.resources[scope.Resource] = s.newResource(&before)
	s.running[scope] = &stream{listed: true}
	same := before
	served := s.Served(scope.Resource)
	s.adjust(t.Context(), []resources.Resource{same}, []string{""})
	if s.Served(scope.Resource) != served {
		t.Error("the served resource was replaced although its definition is the same")
	}
	now := before
	now.Subresources = []string{"status"}
	s.adjust(t.Context(), []resources.Resource{now}, []string{""})
	if !s.Served(scope.Resource).Resource.HasSubresource("status") {
		t.Error("the new subresource is unknown")
	}
}

func TestStreams_ObjectsDeletedDuringPauseAreForgotten(t *testing.T) {
	s := testStreams(t, &handlers.Registry{}, noProcessing)
	key := func(uid string) queue.Key { return queue.Key{Resource: "kex", Object: uid} }
	s.memories.Recall(key("there"), "ns", true, nil)
	s.memories.Recall(key("gone"), "ns", true, nil)
	s.memories.Recall(key("elsewhere"), "other", true, nil)
	scope := resources.Scope{Resource: "kex", Namespace: "ns"}
	for _, uid := range []string{"only indexed", "only indexed and gone"} {
		s.memories.Memo(scope, uid, s.deps.NewMemo)
	}
	s.forgetObjects(scope, map[queue.Key]bool{key("only indexed"): true, key("there"): true, key("new"): true})
	for uid, want := range map[string]bool{"there": true, "gone": false, "elsewhere": true} {
		if got := s.memories.Find(key(uid)) != nil; got != want {
			t.Errorf("%s: remembered is %t", uid, got)
		}
	}
	if n := s.memories.OnlyIndexed(); n != 1 {
		t.Errorf("%d objects that are only indexed are remembered, want 1", n)
	}
}
