package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// account is the service account of [restricted].
const account = "operator"

// rule allows to do something with the resources of a group.
func rule(group, resources string, verbs ...any) tree {
	return tree{"apiGroups": []any{group}, "resources": []any{resources}, "verbs": verbs}
}

// grant gives a permission to the service account, in the test's namespace or everywhere.
func grant(cluster *kopftest.Cluster, name string, everywhere bool, rule tree) {
	cluster.T().Helper()
	const version = "rbac.authorization.k8s.io/v1"
	kind := "Role"
	if everywhere {
		kind = "ClusterRole"
	}
	cluster.Create(tree{"apiVersion": version, "kind": kind, "metadata": tree{"name": name}, "rules": []any{rule}})
	cluster.Create(tree{
		"apiVersion": version, "kind": kind + "Binding", "metadata": tree{"name": name},
		"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
		"subjects": []any{tree{"kind": "ServiceAccount", "name": account, "namespace": cluster.Namespace}},
	})
}

// restricted returns the configuration of a service account with the permissions for the
// examples in the namespace that the documentation asks for, and no others.
func restricted(cluster *kopftest.Cluster) *rest.Config {
	cluster.T().Helper()
	return permitted(cluster, "list", "watch", "patch")
}

// permitted returns the configuration of a service account that may do something with the examples in the namespace.
func permitted(cluster *kopftest.Cluster, verbs ...any) *rest.Config {
	cluster.T().Helper()
	cluster.Create(tree{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": tree{"name": account}})
	grant(cluster, account, false, rule("kopf.dev", "*", verbs...))
	token, err := requestToken(cluster.T().Context(), cluster, tree{})
	if err != nil {
		cluster.T().Fatal(err)
	}
	config := rest.AnonymousClientConfig(cluster.Config)
	config.BearerToken = token
	waitGranted(cluster, config)
	return config
}

// requestToken asks for a token of the service account.
func requestToken(ctx context.Context, cluster *kopftest.Cluster, spec tree) (string, error) {
	cluster.T().Helper()
	answer, err := testcluster.Client(cluster.T(), kube.ClientOptions{}).Do(ctx, kube.Request{
		Method: http.MethodPost, ContentType: "application/json",
		Path: "/api/v1/namespaces/" + cluster.Namespace + "/serviceaccounts/" + account + "/token",
		Body: []byte(asJSON(tree{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})),
	})
	if err != nil {
		return "", err
	}
	var request struct{ Status struct{ Token string } }
	err = json.Unmarshal(answer, &request)
	return request.Status.Token, err
}

// waitGranted waits until the API server knows of the permissions for the examples.
func waitGranted(cluster *kopftest.Cluster, config *rest.Config) {
	cluster.T().Helper()
	waitListable(cluster, config, "/apis/kopf.dev/v1", kex.plural)
}

// waitListable waits until the API server permits to list the objects of a resource in the test's namespace.
func waitListable(cluster *kopftest.Cluster, config *rest.Config, version, plural string) {
	cluster.T().Helper()
	session, err := kube.NewSession(config, 0)
	if err != nil {
		cluster.T().Fatal(err)
	}
	defer session.Close()
	client := kube.NewClient(kube.Fixed(session), kube.ClientOptions{}).WithoutRetries()
	cluster.WaitUntil("the permission to list "+plural+" is granted", func() bool {
		_, errList := client.Do(cluster.T().Context(), kube.Request{
			Method: http.MethodGet, Path: version + "/namespaces/" + cluster.Namespace + "/" + plural + "?limit=1",
		})
		_, errDiscover := client.Discover(cluster.T().Context()) // a young control plane may not yet grant discovery to all users
		return errList == nil && errDiscover == nil
	})
}

func TestPermissions_FewAreEnoughForNamedNamespaces(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	config := restricted(cluster)
	op := cluster.Run(c.namespaced, connect(config), serving(cluster.Namespace, "others-*"))
	x := cluster.Create(example("x"))
	waitHandled(x)
	c.are(t, cluster.Namespace+" x")
	op.WaitLog("Cannot watch the namespaces (forbidden)")
	op.WaitLog("Cannot watch CustomResourceDefinitions (forbidden)")
	var warnings []string
	for _, e := range op.LogEntries() {
		if e.Level == slog.LevelWarn {
			warnings = append(warnings, e.Message)
		}
	}
	if len(warnings) != 2 {
		t.Errorf("warned: %s", strings.Join(warnings, "\n"))
	}
}

func TestPermissions_LateOnesAreNoticed(t *testing.T) {
	cluster, c := newCluster(t), &calls{}
	config := restricted(cluster)
	own := ownResource(cluster) // as the operator looks into all namespaces, those of other tests included
	op := cluster.Launch(func(r *kopf.Registry) {
		kopf.OnCreate(r, own.selector(), c.does("created"), kopf.ID("created"))
	}, connect(config), serving())
	op.WaitLogs("is interrupted", 3)
	if n := op.CountLog("is interrupted"); n > 10 {
		t.Errorf("the operator asks again and again: %d times by now", n)
	}
	grant(cluster, cluster.Namespace, true, rule(own.group, "*", "list", "watch", "patch"))
	cluster.Create(own.of(example("x")))
	c.wait(cluster, "created", 1)
}

func TestOperator_ReleasesObjectsOfDeletedDefinition(t *testing.T) {
	cluster := newCluster(t)
	own := ownResource(cluster)
	var cleanable atomic.Bool
	op := cluster.Run(func(r *kopf.Registry) {
		kopf.OnDelete(r, own.selector(), func(context.Context, *change) error {
			if !cleanable.Load() {
				return kopf.Temporaryf(10*time.Millisecond, "not yet")
			}
			return nil
		}, kopf.ID("clean"))
	})
	x := cluster.Create(own.of(example("x")))
	waitHeld(x)
	defined := definition(cluster, own)
	defined.Delete()
	x.WaitFor("it is being deleted", func(o *kopf.Object) bool { return o.Get("metadata.deletionTimestamp") != nil })
	op.Restart() // the API server does not announce that the objects can be patched again
	cleanable.Store(true)
	defined.WaitGone()
}
