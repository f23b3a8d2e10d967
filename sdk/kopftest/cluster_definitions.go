package kopftest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// All tests, including tests of other packages, share the custom resource definitions of a cluster. In a cluster that
// continues to exist after the tests, each test binary marks the definitions that it uses and that tests created. The last
// binary deletes them.
const (
	madeKey    = "kopftest.kopf.dev/made"     // annotation of definitions that tests created
	usedPrefix = "kopftest.kopf.dev/used-by-" // prefix of the mark on definitions that a running test binary uses

	// staleMark is the age at which a mark is ignored, because its binary ended without removing it.
	staleMark = 24 * time.Hour
)

var definitions = &resources.Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Plural: "customresourcedefinitions", Kind: definitionKind,
}

// usedKey is the mark of this test binary.
var usedKey = usedPrefix + strings.ToLower(rand.Text()[:8])

// borrowed are the definitions with the mark of this binary.
var borrowed struct {
	sync.Mutex
	of map[string]*rest.Config // configuration of the cluster by the definition's name
}

// markMade marks the manifest of a definition as created by tests, unless the definition existed before the tests. It
// reports whether it marked the manifest.
func markMade(m manifest, previous *kopf.Object) (manifest, bool) {
	if previous != nil && previous.Get("metadata.annotations["+madeKey+"]") == nil {
		return m, false
	}
	tree := maps.Clone(m.tree)
	metadata, _ := tree["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[madeKey] = "by tests"
	metadata["annotations"] = annotations
	tree["metadata"] = metadata
	return manifest{source: m.source, tree: tree}, true
}

// borrow adds the mark of this binary to a definition.
func (c *Cluster) borrow(ctx context.Context, name string) error {
	mark, err := json.Marshal(metadataOf("annotations", usedKey, time.Now().UTC().Format(time.RFC3339)))
	if err != nil {
		return err
	}
	if _, err = c.client.Patch(ctx, definitions, "", name, "", kube.MergePatch, mark); err != nil {
		return err
	}
	borrowed.Lock()
	defer borrowed.Unlock()
	if borrowed.of == nil {
		borrowed.of = map[string]*rest.Config{}
	}
	borrowed.of[name] = c.Config
	return nil
}

// borrowedAlready reports whether a definition has the mark of this binary.
func borrowedAlready(definition *kopf.Object) bool {
	return definition.Get(kopf.PathOf("metadata", "annotations", usedKey)) != nil
}

// giveBack removes the marks of this binary, and the definitions that no other binary uses.
func giveBack(ctx context.Context) error {
	borrowed.Lock()
	defer borrowed.Unlock()
	var errs []error
	for name, config := range borrowed.of {
		if err := giveBackOne(ctx, config, name); err != nil {
			errs = append(errs, fmt.Errorf("kopftest: the definition %s: %w", name, err))
		}
	}
	borrowed.of = nil
	return errors.Join(errs...)
}

func giveBackOne(ctx context.Context, config *rest.Config, name string) error {
	session, err := kube.NewSession(config, 0)
	if err != nil {
		return err
	}
	defer session.Close()
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{UserAgent: userAgent})
	for {
		definition, err := client.Get(ctx, definitions, "", name)
		if err != nil {
			return ignoreNotFound(err)
		}
		view := new(kopf.Object)
		if err := view.UnmarshalJSON(definition.Raw); err != nil {
			return err
		}
		if usedByOthers(kopf.GetOr(view, "metadata.annotations", map[string]string{}), time.Now()) {
			unmark := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, usedKey)
			_, err := client.Patch(ctx, definitions, "", name, "", kube.MergePatch, unmark)
			return ignoreNotFound(err)
		}
		err = deleteVersion(ctx, client, name, definition.ResourceVersion)
		if !apierrors.IsConflict(err) { // a conflict means that another binary has just added a mark
			return ignoreNotFound(err)
		}
	}
}

func usedByOthers(annotations map[string]string, now time.Time) bool {
	for key, value := range annotations {
		if !strings.HasPrefix(key, usedPrefix) || key == usedKey {
			continue
		}
		if since, err := time.Parse(time.RFC3339, value); err == nil && now.Sub(since) < staleMark {
			return true
		}
	}
	return false
}

func deleteVersion(ctx context.Context, client *kube.Client, name, version string) error {
	path, err := definitions.Path("", name, "", nil)
	if err != nil {
		return err
	}
	_, err = client.Do(ctx, kube.Request{
		Method: http.MethodDelete, Path: path, Resource: definitions, ContentType: "application/json",
		Body: fmt.Appendf(nil, `{"preconditions":{"resourceVersion":%q}}`, version),
	})
	return err
}
