package tunnel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/tunnel/relay"
)

// relayPoll is the interval between reads of a starting pod.
const relayPoll = 250 * time.Millisecond

// dialFunc connects to the control port of a relay.
type dialFunc func(context.Context) (io.ReadWriteCloser, error)

// relayPod is the pod of a relay and its service.
type relayPod struct {
	Relay
	client dynamic.Interface
	name   string
	link   *Link
}

// create creates what does not exist yet.
func (p *relayPod) create(ctx context.Context) error {
	for _, o := range []struct {
		resource schema.GroupVersionResource
		object   map[string]any
	}{{services, p.service()}, {pods, p.pod()}} {
		metadata := map[string]any{"name": p.name, "namespace": p.Namespace}
		newMark(p.session, time.Now()).put(metadata)
		o.object["metadata"] = metadata
		_, err := p.client.Resource(o.resource).Namespace(p.Namespace).Create(ctx, &unstructured.Unstructured{Object: o.object}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the relay: %w", err)
		}
	}
	return nil
}

// renew renews the marks of the pod and the service, and recreates them if they were deleted.
func (p *relayPod) renew(ctx context.Context) error {
	metadata := map[string]any{}
	newMark(p.session, time.Now()).put(metadata)
	change, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return err
	}
	missing := false
	for _, resource := range []schema.GroupVersionResource{services, pods} {
		_, err := p.client.Resource(resource).Namespace(p.Namespace).Patch(ctx, p.name, types.MergePatchType, change, metav1.PatchOptions{})
		switch {
		case apierrors.IsNotFound(err):
			missing = true
		case err != nil:
			return fmt.Errorf("renew the mark of the relay: %w", err)
		}
	}
	if missing {
		return p.create(ctx)
	}
	return nil
}

func (p *relayPod) service() map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"spec": map[string]any{
			"selector": map[string]any{SessionLabel: p.session},
			"ports":    []any{map[string]any{"port": int64(443), "targetPort": int64(relayPublicPort), "protocol": "TCP"}},
		},
	}
}

// pod fits the strictest of the pod security standards.
func (p *relayPod) pod() map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Pod",
		"spec": map[string]any{
			"restartPolicy":                 cmp.Or(p.restart, "OnFailure"), // it ends successfully when it is no longer needed
			"automountServiceAccountToken":  false,
			"enableServiceLinks":            false,
			"terminationGracePeriodSeconds": int64(2),
			"securityContext": map[string]any{
				"runAsNonRoot": true, "runAsUser": int64(65532), "runAsGroup": int64(65532),
				"seccompProfile": map[string]any{"type": "RuntimeDefault"},
			},
			"containers": []any{map[string]any{
				"name":  "relay",
				"image": p.Image,
				"command": []any{
					"kopf", "relay",
					"--listen=:" + strconv.Itoa(relayPublicPort),
					"--control=" + net.JoinHostPort(loopback, strconv.Itoa(relayControlPort)),
					"--idle=" + relayIdle.String(),
				},
				"ports": []any{map[string]any{"containerPort": int64(relayPublicPort)}},
				"securityContext": map[string]any{
					"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
					"capabilities": map[string]any{"drop": []any{"ALL"}},
				},
				"resources": map[string]any{
					"requests": map[string]any{"cpu": "10m", "memory": "32Mi"},
					"limits":   map[string]any{"memory": "128Mi"},
				},
			}},
		},
	}
}

// connect connects to the relay in the pod, once it runs. It recreates a deleted pod.
func (p *relayPod) connect(ctx context.Context) (net.Listener, error) {
	tick := time.NewTicker(relayPoll)
	defer tick.Stop()
	waiting := errors.New("it has no status yet")
	for {
		pod, err := p.client.Resource(pods).Namespace(p.Namespace).Get(ctx, p.name, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err):
			return nil, err
		case apierrors.IsNotFound(err):
			if p.link.state() != nil { // that is why
				p.link.Lose(fmt.Errorf("pod %s/%s of the relay was deleted; creating it again", p.Namespace, p.name))
			}
			err = p.create(ctx)
		case err == nil:
			var final bool
			if final, err = podStatus(pod); final {
				return nil, errors.Join(err, p.removePod(ctx))
			}
			if err == nil {
				var listener net.Listener
				if listener, err = p.greet(ctx); err == nil {
					return listener, nil
				}
				if _, wrong := errors.AsType[*relay.VersionError](err); wrong {
					return nil, err
				}
			}
		}
		if err != nil && ctx.Err() == nil {
			waiting = err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(ctx), waiting)
		}
	}
}

// greet dials the relay and greets it.
func (p *relayPod) greet(ctx context.Context) (net.Listener, error) {
	stream, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	return relay.Listen(ctx, stream)
}

// podStatus returns an error unless the pod runs, and whether it never will.
func podStatus(pod *unstructured.Unstructured) (final bool, err error) {
	if pod.GetDeletionTimestamp() != nil {
		return false, errors.New("it is being deleted")
	}
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	switch phase {
	case "Running":
		return false, nil
	case "Failed", "Succeeded":
		return true, fmt.Errorf("it has ended (%s)", phase)
	}
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	for _, s := range statuses {
		status, _ := s.(map[string]any)
		reason, _, _ := unstructured.NestedString(status, "state", "waiting", "reason")
		message, _, _ := unstructured.NestedString(status, "state", "waiting", "message")
		switch reason {
		case "":
		case "InvalidImageName", "ErrImageNeverPull":
			return true, fmt.Errorf("%s: %s", reason, message)
		default:
			return false, fmt.Errorf("%s: %s", reason, message)
		}
	}
	return false, fmt.Errorf("it is %s", phase)
}

func (p *relayPod) removePod(ctx context.Context) error {
	err := p.client.Resource(pods).Namespace(p.Namespace).Delete(ctx, p.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("remove the pod of the relay: %w", err)
	}
	return nil
}

// remove removes the pod and the service.
func (p *relayPod) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	failed := p.removePod(ctx)
	err := p.client.Resource(services).Namespace(p.Namespace).Delete(ctx, p.name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return errors.Join(failed, fmt.Errorf("remove the service of the relay: %w", err))
	}
	return failed
}
