package asdeployed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/deploy/manifests"
	"github.com/kopf-dev/kopf/devcluster/apply"
	"github.com/kopf-dev/kopf/sdk/printable"
)

const (
	// effectTimeout bounds the wait until new roles take effect, which usually takes some milliseconds. A control plane that has just started
	// and is short of CPU can take 15 seconds.
	effectTimeout = time.Minute
	// effectInterval is the interval of the checks.
	effectInterval = 20 * time.Millisecond
)

// Grant is a set of roles in a cluster, for a user.
type Grant struct {
	config  *rest.Config
	objects []apply.Object
}

// NewGrant creates the service account, the roles and the bindings of the manifests, or changes those that
// exist, and waits until they take effect. The grant should be revoked.
func NewGrant(ctx context.Context, config *rest.Config, m *manifests.Manifests) (*Grant, error) {
	objects, err := m.Permissions()
	if err != nil {
		return nil, err
	}
	all := make([]apply.Manifest, len(objects))
	for i, o := range objects {
		all[i] = apply.Manifest{File: "kopf manifests", Line: 1, Object: o}
	}
	applied, err := apply.All(ctx, config, all, apply.Options{})
	g := &Grant{config: config, objects: applied}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the roles of the deployed operator: %w", err), g.Revoke(context.WithoutCancel(ctx)))
	}
	if err := awaitEffect(ctx, config, m); err != nil {
		return nil, errors.Join(err, g.Revoke(context.WithoutCancel(ctx)))
	}
	return g, nil
}

// Revoke deletes the objects of the grant.
func (g *Grant) Revoke(ctx context.Context) error {
	client, err := dynamic.NewForConfig(g.config)
	if err != nil {
		return fmt.Errorf("delete the roles of the deployed operator: %w", printable.Error(err))
	}
	var errs []error
	for _, o := range g.objects {
		options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}}
		if err := client.Resource(o.Resource).Namespace(o.Namespace).Delete(ctx, o.Name, options); err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("delete %s %s of the deployed operator: %w", o.Resource.Resource, o.Name, err))
		}
	}
	return errors.Join(errs...)
}

// awaitEffect polls the cluster until the user has the needed permissions. The authorizer learns of new roles a
// moment after their creation. Permissions that are still missing after the timeout show up in the operator's
// requests.
func awaitEffect(ctx context.Context, config *rest.Config, m *manifests.Manifests) error {
	config = rest.CopyConfig(config)
	config.Impersonate = rest.ImpersonationConfig{UserName: m.User()}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	defer client.CloseIdleConnections()
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", printable.Error(err))
	}
	at := base.JoinPath("apis/authorization.k8s.io/v1/selfsubjectaccessreviews").String()
	ctx, cancel := context.WithTimeout(ctx, effectTimeout)
	defer cancel()
	tick := time.NewTicker(effectInterval)
	defer tick.Stop()
	for _, need := range m.Needs() {
		for {
			allowed, err := mayAccess(ctx, client, at, need)
			if err != nil && ctx.Err() == nil {
				return fmt.Errorf("check the permissions of the deployed operator: %w", printable.Error(err))
			}
			if allowed {
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("check the permissions of the deployed operator: its roles do not permit to %s %s after %s; does the cluster use RBAC?",
					need.Verbs[0], need.Resource, effectTimeout)
			}
		}
	}
	return nil
}

// mayAccess asks whether the user of the client has the first verb of a permission, which comes with the others.
func mayAccess(ctx context.Context, client *http.Client, at string, need manifests.Need) (allowed bool, err error) {
	resource, subresource, _ := strings.Cut(need.Resource, "/")
	attributes := map[string]any{
		"verb": need.Verbs[0], "group": need.Group, "resource": resource, "subresource": subresource, "namespace": need.In,
	}
	if len(need.Names) > 0 {
		attributes["name"] = need.Names[0]
	}
	body, err := json.Marshal(map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": map[string]any{"resourceAttributes": attributes},
	})
	if err != nil {
		return false, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	if err != nil {
		return false, err
	}
	if resp.StatusCode == http.StatusForbidden {
		return false, nil // a new cluster does not have its default roles yet
	}
	if resp.StatusCode != http.StatusCreated {
		return false, fmt.Errorf("the server answered %s: %s", resp.Status, printable.Line(string(answer)))
	}
	var review struct {
		Status struct {
			Allowed bool `json:"allowed"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer, &review); err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
