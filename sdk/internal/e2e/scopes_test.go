package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// makeNamespace makes a namespace by name, besides that of the test.
func (w *world) makeNamespace(name string) {
	w.t.Helper()
	testcluster.Create(w.t, w.client, namespaceResource, "", tree{"metadata": tree{"name": name}})
}

func (c *calls) namespaced(r *kopf.Registry) {
	kopf.OnCreate(r, kexes, func(_ context.Context, r *change) error {
		c.add(r.Namespace + " " + r.Name)
		return nil
	}, kopf.ID("created"))
}

func TestNamespacesComeAndGoWhileTheOperatorRuns(t *testing.T) {
	w, c := newWorld(t), &calls{}
	early, late, excluded, named := w.ns+"-a-early", w.ns+"-a-late", w.ns+"-a-not", w.ns+"-named"
	w.makeNamespace(early)
	w.createIn(early, example("x"))
	op := w.run(c.namespaced, setup{namespaces: []string{w.ns + "-a-*,!*-not", named}})
	c.wait(t, early+" x", 1)
	w.makeNamespace(excluded)
	w.createIn(excluded, example("x"))
	w.makeNamespace(late)
	w.createIn(late, example("x"))
	w.makeNamespace(named)
	w.createIn(named, example("x"))
	c.wait(t, late+" x", 1)
	c.wait(t, named+" x", 1)
	if err := testcluster.Delete(t.Context(), w.client, namespaceResource, "", early); err != nil {
		t.Fatal(err)
	}
	op.journal.wait(t, "Stopping the watch-stream for kopfexamples.v1.kopf.dev in "+early, 1)
	w.makeNamespace(early)
	w.createIn(early, example("again"))
	c.wait(t, early+" again", 1)
	if n := c.count(excluded + " x"); n != 0 {
		t.Error("an excluded namespace is served")
	}
}

// roles is the API of permissions.
func roles(plural, kind string, namespaced bool) *resources.Resource {
	return &resources.Resource{Group: "rbac.authorization.k8s.io", Version: "v1", Plural: plural, Kind: kind, Namespaced: namespaced}
}

// restricted returns a way in with the permissions for the examples in the namespace that the
// documentation asks for, and nothing else.
func (w *world) restricted() *rest.Config {
	w.t.Helper()
	accounts := &resources.Resource{Version: "v1", Plural: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true}
	testcluster.Create(w.t, w.client, accounts, w.ns, tree{"metadata": tree{"name": "operator"}})
	testcluster.Create(w.t, w.client, roles("roles", "Role", true), w.ns, tree{
		"metadata": tree{"name": "operator"},
		"rules": []any{tree{
			"apiGroups": []any{"kopf.dev"}, "resources": []any{"*"}, "verbs": []any{"list", "watch", "patch"},
		}},
	})
	testcluster.Create(w.t, w.client, roles("rolebindings", "RoleBinding", true), w.ns, tree{
		"metadata": tree{"name": "operator"},
		"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"},
		"subjects": []any{tree{"kind": "ServiceAccount", "name": "operator", "namespace": w.ns}},
	})
	tokens := &resources.Resource{Version: "v1", Plural: "serviceaccounts/operator/token", Kind: "TokenRequest", Namespaced: true}
	made, err := w.client.Post(w.t.Context(), tokens, w.ns, encode(w.t, tree{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": tree{},
	}))
	if err != nil {
		w.t.Fatal(err)
	}
	var answer struct{ Status struct{ Token string } }
	if err := json.Unmarshal(made.Raw, &answer); err != nil {
		w.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(testcluster.Config(w.t))
	config.BearerToken = answer.Status.Token
	w.untilGranted(config)
	return config
}

// untilGranted waits until the server knows of the permissions of a way in.
func (w *world) untilGranted(config *rest.Config) {
	w.t.Helper()
	session, err := kube.NewSession(config, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	defer session.Close()
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{}).WithoutRetries()
	testcluster.Eventually(w.t, "the permissions are granted", func() error {
		_, errList := client.List(w.t.Context(), kex, w.ns, kube.ListOptions{Limit: 1})
		_, errDiscover := client.Discover(w.t.Context()) // a young control plane may not know that all may do that
		return errors.Join(errList, errDiscover)
	})
}

func TestFewPermissionsAreEnoughForNamedNamespaces(t *testing.T) {
	w, c := newWorld(t), &calls{}
	config := w.restricted()
	op := w.run(c.namespaced, setup{config: config, namespaces: []string{w.ns, "others-*"}})
	w.create(example("x"))
	w.untilHandled("x")
	c.are(t, w.ns+" x")
	var warnings []string
	for _, e := range op.journal.all() {
		if e.level.String() == "WARN" {
			warnings = append(warnings, e.line)
		}
	}
	if len(warnings) != 2 {
		t.Errorf("warned: %s", strings.Join(warnings, "\n"))
	}
	op.journal.wait(t, "There are no permissions to watch the namespaces", 1)
	op.journal.wait(t, "There are no permissions to watch the definitions of resources", 1)
}

func TestDefinitionsComeAndGoWhileTheOperatorRuns(t *testing.T) {
	w, c := newWorld(t), &calls{}
	late := *kex
	late.Group = w.ns + ".kopf.dev"
	op := w.run(func(r *kopf.Registry) {
		selector := kopf.Resource(late.Group+"/v1", "kopfexamples")
		kopf.OnCreate(r, selector, func(_ context.Context, r *change) error {
			c.add(r.Name)
			return nil
		}, kopf.ID("created"))
	})
	op.journal.wait(t, "ready", 1)
	for _, name := range []string{"first", "second"} {
		began := time.Now()
		w.define(&late, anything)
		w.served(&late)
		w.res = &late
		w.create(example(name))
		c.wait(t, name, 1)
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %s", took)
		} else {
			t.Logf("it took %s from the definition to the handler", took)
		}
		w.untilHandled(name)
		if err := testcluster.Delete(t.Context(), w.client, definitionResource, "", late.Plural+"."+late.Group); err != nil {
			t.Fatal(err)
		}
		op.journal.wait(t, "Stopping the watch-stream for "+late.Key(), c.count("first")+c.count("second"))
		testcluster.Eventually(t, "the definition is gone", func() error {
			_, err := w.client.WithoutRetries().Get(t.Context(), definitionResource, "", late.Plural+"."+late.Group)
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case err == nil:
				return errors.New("it is there")
			}
			return err
		})
	}
	if n := op.journal.count("is interrupted"); n > 10 {
		t.Errorf("the operator asked %d times for what is not served", n)
	}
}

func TestPermissionsThatComeLateAreNoticed(t *testing.T) {
	w, c := newWorld(t), &calls{}
	config := w.restricted()
	own := w.ownResource() // as the operator looks into all namespaces, those of other tests included
	op := w.run(func(r *kopf.Registry) {
		kopf.OnCreate(r, kopf.Resource(own.Group, "kopfexamples"), c.does("created"), kopf.ID("created"))
	}, setup{config: config, namespaces: []string{}, unready: true})
	op.journal.wait(t, "is interrupted", 3)
	if n := op.journal.count("is interrupted"); n > 10 {
		t.Errorf("the operator asks again and again: %d times by now", n)
	}
	testcluster.Create(t, w.client, roles("clusterroles", "ClusterRole", false), "", tree{
		"metadata": tree{"name": w.ns},
		"rules": []any{tree{
			"apiGroups": []any{own.Group}, "resources": []any{"*"}, "verbs": []any{"list", "watch", "patch"},
		}},
	})
	testcluster.Create(t, w.client, roles("clusterrolebindings", "ClusterRoleBinding", false), "", tree{
		"metadata": tree{"name": w.ns},
		"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": w.ns},
		"subjects": []any{tree{"kind": "ServiceAccount", "name": "operator", "namespace": w.ns}},
	})
	w.create(example("x"))
	c.wait(t, "created", 1)
}
