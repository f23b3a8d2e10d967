package tunnel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var (
	validatingConfigurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	mutatingConfigurations   = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"}
	configMaps               = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

const (
	// checkPath is the path of the checks below the forwarder's secret, distinct from the handlers' paths. Its
	// elements must be DNS names: API servers reject others in the path of a service.
	checkPath = "dev.kopf.check/"

	// checkLabel is the label of the object that a check creates, and of no other.
	checkLabel = "kopf.dev/webhook-check"

	// noticeLimit is how long an API server may take to notice the check's configuration. It usually takes
	// less than a second.
	noticeLimit = 15 * time.Second

	// callTimeout is how long the API server tries to call the forwarder, in whole seconds.
	callTimeout = 3

	checkEvery = 100 * time.Millisecond
)

// UnreachableError reports that the API server cannot call the forwarder, in the words of the API server.
type UnreachableError struct {
	Target string
	Reason string
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("the API server does not reach %s: %s", e.Target, e.Reason)
}

// checker proves that the API server of a cluster calls the forwarder.
type checker struct {
	client    dynamic.Interface
	namespace string
	forwarder *Forwarder
	mark      Mark
}

// check makes the API server call the forwarder with a real review, of an object that is created in a dry run and
// never stored. The webhook configuration matches only this object, by a unique label, and is removed at the end. Its
// failure policy is Fail, because only then the API server returns the reason of a failed call.
func (c *checker) check(ctx context.Context, target Target, ca []byte, settles time.Duration) (err error) {
	id := randomName()
	c.forwarder.expectCheck(id)
	defer c.forwarder.forgetCheck(id)
	name := "kopf-check-" + id
	configuration := c.configuration(name, id, target.below(c.forwarder.secret, checkPath+id), ca)
	api := c.client.Resource(validatingConfigurations)
	if _, err := api.Create(ctx, configuration, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a webhook configuration to check the tunnel: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		if failed := api.Delete(ctx, name, metav1.DeleteOptions{}); failed != nil && !apierrors.IsNotFound(failed) {
			err = errors.Join(err, fmt.Errorf("remove the webhook configuration %s: %w; kopf cleanup does it, too", name, failed))
		}
	}()
	return c.await(ctx, id, target, settles)
}

// await creates the object until the API server has called the forwarder, or has tried.
func (c *checker) await(ctx context.Context, id string, target Target, settles time.Duration) error {
	noticed := time.Now().Add(noticeLimit)
	settled := time.Now().Add(settles)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		_, err := c.client.Resource(configMaps).Namespace(c.namespace).Create(ctx, c.object(id), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		switch reason, failed := callFailure(err); {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil && strings.Contains(err.Error(), checkMessage(id)):
			return nil
		case failed && time.Now().After(settled):
			return &UnreachableError{Target: target.String(), Reason: reason}
		case failed:
		case err != nil:
			return fmt.Errorf("create an object in a dry run to check the tunnel: %w", err)
		case time.Now().After(noticed):
			return &UnreachableError{Target: target.String(), Reason: fmt.Sprintf("it has not called the webhook within %s", noticeLimit)}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (c *checker) configuration(name, id string, target Target, ca []byte) *unstructured.Unstructured {
	metadata := map[string]any{"name": name}
	c.mark.put(metadata)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1",
		"kind":       "ValidatingWebhookConfiguration",
		"metadata":   metadata,
		"webhooks": []any{map[string]any{
			"name":                    "check.kopf.dev",
			"clientConfig":            target.clientConfig(ca),
			"admissionReviewVersions": []any{"v1"},
			"sideEffects":             "None",
			"failurePolicy":           "Fail",
			"timeoutSeconds":          int64(callTimeout),
			"objectSelector":          map[string]any{"matchLabels": map[string]any{checkLabel: id}},
			"namespaceSelector":       map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": c.namespace}},
			"rules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"configmaps"},
				"operations": []any{"CREATE"}, "scope": "Namespaced",
			}},
		}},
	}}
}

func (c *checker) object(id string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": "kopf-check-" + id, "namespace": c.namespace, "labels": map[string]any{checkLabel: id}},
	}}
}

// calling matches how API servers begin the reason why they could not call a webhook.
var calling = regexp.MustCompile(`failed calling webhook "[^"]*": (?:failed to call webhook: )?(?:Post "[^"]*": )?`)

// callFailure returns why the API server could not call a webhook, without the URL, which is a secret.
func callFailure(err error) (string, bool) {
	if err == nil {
		return "", false
	}
	message := err.Error()
	at := calling.FindStringIndex(message)
	if at == nil {
		return "", false
	}
	return message[at[1]:], true
}

// checkMessage is how the forwarder denies the object of a check.
func checkMessage(id string) string { return "the tunnel works: " + id }

func (f *Forwarder) expectCheck(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checks[id] = true
}

func (f *Forwarder) forgetCheck(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.checks, id)
}

// answerCheck denies the object of a check, so that the caller sees that the forwarder was asked.
func (f *Forwarder) answerCheck(w http.ResponseWriter, r *http.Request, id string) {
	f.mu.Lock()
	expected := f.checks[id]
	f.mu.Unlock()
	var review struct {
		APIVersion string `json:"apiVersion"`
		Request    struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxReview)).Decode(&review); err != nil || !expected {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // an error means that the API server has given up
		"apiVersion": review.APIVersion,
		"kind":       "AdmissionReview",
		"response": map[string]any{
			"uid": review.Request.UID, "allowed": false,
			"status": map[string]any{"code": http.StatusForbidden, "message": checkMessage(id)},
		},
	})
}
