package faults

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/watch"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// world is all objects of a trial that ever were, by watches without faults.
type world struct {
	mu    sync.Mutex
	lives map[string]*life             // keyed by UID
	names map[string]map[string]string // the UID of each living object, by plural and name
}

// life is an object from its creation to its end.
type life struct {
	plural, name, uid string
	version           string
	owner             string // UID of the parent, by the owner reference or the label
	labels            tree
	annotations       tree
	passwords         map[string]bool // values that a Secret had
	gone              bool
}

func newWorld(t *testing.T, namespace string) *world {
	t.Helper()
	w := &world{lives: map[string]*life{}, names: map[string]map[string]string{}}
	client := testcluster.Client(t, kube.ClientOptions{})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var watches sync.WaitGroup
	for _, k := range append([]childKind{custom(shops)}, childKinds...) {
		w.names[k.Plural] = map[string]string{}
		watches.Go(func() {
			watch.Run(ctx, watch.Options{Client: client, Resource: &k.Resource, Namespace: namespace, Handle: func(e watch.Event) {
				o, err := e.Object.Tree()
				if err != nil {
					t.Error(err)
					return
				}
				w.add(k.Plural, e.Type == watch.Deleted, o)
			}})
		})
	}
	t.Cleanup(func() {
		cancel()
		watches.Wait()
	})
	return w
}

func (w *world) add(plural string, deleted bool, o tree) {
	meta := o["metadata"].(tree)
	name, uid := fmt.Sprint(meta["name"]), fmt.Sprint(meta["uid"])
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[uid]
	if l == nil {
		l = &life{plural: plural, name: name, uid: uid, passwords: map[string]bool{}}
		w.lives[uid] = l
	}
	if deleted {
		l.gone = true
		if w.names[plural][name] == uid {
			delete(w.names[plural], name)
		}
		return
	}
	w.names[plural][name] = uid
	l.version = fmt.Sprint(meta["resourceVersion"])
	l.labels, _ = meta["labels"].(tree)
	l.annotations, _ = meta["annotations"].(tree)
	if owner := ownerOf(l.labels, meta["ownerReferences"]); owner != "" {
		l.owner = owner
	}
	if data, _ := o["data"].(tree); plural == vault.Plural {
		l.passwords[fmt.Sprint(data["password"])] = true
	}
}

const (
	ownedByLabel  = "kopf.dev/owned-by"
	ownerUIDLabel = "kopf.dev/owner-uid"
)

// ownerOf returns the UID of a child's parent; empty if it has none.
func ownerOf(labels tree, references any) string {
	if all, _ := references.([]any); len(all) > 0 {
		return fmt.Sprint(all[0].(tree)["uid"])
	}
	owner, _ := labels[ownerUIDLabel].(string)
	return owner
}

// living returns the living object of a name, as it is now; nil without one.
func (w *world) living(plural, name string) *life {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lives[w.names[plural][name]]
	if l == nil {
		return nil
	}
	copied := *l
	return &copied
}

// all returns copies of all objects of a kind.
func (w *world) all(plural string) (all []life) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.lives {
		if l.plural == plural {
			all = append(all, *l)
		}
	}
	return all
}

// uidOf returns the UID of an object of a list.
func uidOf(o *kopf.Object) string { return kopf.GetOr(o, "metadata.uid", "") }
