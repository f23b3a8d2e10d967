package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/util/cert"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// simulatedNode is the node of the embedded control plane, on which all pods seem to run.
	simulatedNode = "simulated-node"
	// kubeletPort is where the API server looks for the kubelet of a node that does not name a port.
	kubeletPort = "10250"
	// sessionLabel marks the pods that really run, which are the pods of relays.
	sessionLabel = "kopf.dev/session"
	// podsInterval is how often the kubelet looks for changes.
	podsInterval = 100 * time.Millisecond
)

var (
	nodesResource    = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	podsResource     = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	servicesResource = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	policiesResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"}
	bindingsResource = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"}
)

// kubelet runs the pods of relays as processes of this container, serves port-forwards to them, and makes
// their services reachable, as the kubelet and kube-proxy of K3s do. It has one network for all pods.
type kubelet struct {
	client    dynamic.Interface
	address   string                  // address of this container
	processes map[string]*exec.Cmd    // processes by the UID of the pod
	listeners map[string]net.Listener // listeners by the UID of the service
}

// startKubelet returns when the API server can reach the kubelet. The kubelet ends with the process.
func startKubelet(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	k := &kubelet{processes: map[string]*exec.Cmd{}, listeners: map[string]net.Listener{}}
	if k.client, err = dynamic.NewForConfig(config); err != nil {
		return err
	}
	if k.address, err = ownAddress(); err != nil {
		return err
	}
	if err := keepPodsRunning(k.client); err != nil {
		return err
	}
	if err := nameNode(); err != nil {
		return err
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(simulatedNode, nil, nil)
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return err
	}
	listener, err := tls.Listen("tcp", net.JoinHostPort("127.0.0.1", kubeletPort), &tls.Config{Certificates: []tls.Certificate{pair}})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/portForward/", forwardPort)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { logf("error", "the kubelet: %v", server.Serve(listener)) }()
	go k.run()
	return nil
}

// ownAddress returns the address of this container, before those of services are added.
func ownAddress() (string, error) {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range interfaces {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			return n.IP.String(), nil
		}
	}
	return "", fmt.Errorf("this container has no address besides %v", interfaces)
}

// nameNode makes the node's name resolvable for the API server.
func nameNode() error {
	hosts, err := os.OpenFile("/etc/hosts", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(hosts, "127.0.0.1\t%s\n", simulatedNode)
	return errors.Join(err, hosts.Close())
}

// keepPodsRunning makes the simulated node report the pods of relays as running: it completes pods that are
// not always restarted.
func keepPodsRunning(client dynamic.Interface) error {
	const name = "keep-relays-running"
	for resource, object := range map[schema.GroupVersionResource]map[string]any{
		policiesResource: {
			"kind": "MutatingAdmissionPolicy",
			"spec": map[string]any{
				"reinvocationPolicy": "Never",
				"matchConstraints": map[string]any{
					"objectSelector": map[string]any{"matchExpressions": []any{map[string]any{"key": sessionLabel, "operator": "Exists"}}},
					"resourceRules": []any{map[string]any{
						"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"pods"},
					}},
				},
				"mutations": []any{map[string]any{
					"patchType":          "ApplyConfiguration",
					"applyConfiguration": map[string]any{"expression": `Object{spec: Object.spec{restartPolicy: "Always"}}`},
				}},
			},
		},
		bindingsResource: {
			"kind": "MutatingAdmissionPolicyBinding",
			"spec": map[string]any{"policyName": name},
		},
	} {
		object["apiVersion"], object["metadata"] = resource.GroupVersion().String(), map[string]any{"name": name}
		_, err := client.Resource(resource).Create(context.Background(), &unstructured.Unstructured{Object: object}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// run follows the node, the pods and the services.
func (k *kubelet) run() {
	for range time.Tick(podsInterval) {
		if err := errors.Join(k.addressNode(), k.runPods(), k.serveServices()); err != nil {
			logf("error", "the kubelet: %v", err)
		}
	}
}

// addressNode sets the node's address to the address of this container, as K3s does, after the control plane has set
// a different one.
func (k *kubelet) addressNode() error {
	node, err := k.client.Resource(nodesResource).Get(context.Background(), simulatedNode, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // not yet
	}
	if err != nil {
		return err
	}
	if addresses, _, _ := unstructured.NestedSlice(node.Object, "status", "addresses"); slices.ContainsFunc(addresses, func(a any) bool {
		address, _ := a.(map[string]any)
		return address["address"] == k.address
	}) {
		return nil
	}
	patch := fmt.Sprintf(`{"status":{"addresses":[{"type":"InternalIP","address":%q},{"type":"Hostname","address":%q}]}}`, k.address, simulatedNode)
	_, err = k.client.Resource(nodesResource).Patch(context.Background(), simulatedNode, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	return err
}

// list returns the objects of relays that are not being deleted, by their UIDs.
func (k *kubelet) list(resource schema.GroupVersionResource) (map[string]unstructured.Unstructured, error) {
	all, err := k.client.Resource(resource).List(context.Background(), metav1.ListOptions{LabelSelector: sessionLabel})
	if err != nil {
		return nil, err
	}
	found := map[string]unstructured.Unstructured{}
	for _, o := range all.Items {
		if o.GetDeletionTimestamp() == nil {
			found[string(o.GetUID())] = o
		}
	}
	return found, nil
}

// runPods starts the command of the first container of new pods, and ends those of pods that have gone.
func (k *kubelet) runPods() error {
	found, err := k.list(podsResource)
	if err != nil {
		return err
	}
	for uid, cmd := range k.processes {
		if _, ok := found[uid]; !ok {
			_ = cmd.Process.Kill() // it may have ended
			_ = cmd.Wait()
			delete(k.processes, uid)
		}
	}
	for uid, pod := range found {
		if k.processes[uid] != nil {
			continue
		}
		containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
		if err != nil || len(containers) == 0 {
			return fmt.Errorf("the pod %s has no containers: %w", pod.GetName(), err)
		}
		first, _ := containers[0].(map[string]any)
		command, _, err := unstructured.NestedStringSlice(first, "command")
		if err != nil || len(command) == 0 {
			return fmt.Errorf("the pod %s has no command: %w", pod.GetName(), err)
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			return err
		}
		k.processes[uid] = cmd
	}
	return nil
}

// serveServices gives the addresses of new services to this container, and forwards their first port.
func (k *kubelet) serveServices() error {
	found, err := k.list(servicesResource)
	if err != nil {
		return err
	}
	for uid, listener := range k.listeners {
		if _, ok := found[uid]; !ok {
			_ = listener.Close() // the address remains, which does no harm
			delete(k.listeners, uid)
		}
	}
	for uid, service := range found {
		if k.listeners[uid] != nil {
			continue
		}
		ip, _, err := unstructured.NestedString(service.Object, "spec", "clusterIP")
		if err != nil {
			return err
		}
		ports, _, err := unstructured.NestedSlice(service.Object, "spec", "ports")
		if err != nil || len(ports) == 0 {
			return fmt.Errorf("the service %s has no ports: %w", service.GetName(), err)
		}
		first, _ := ports[0].(map[string]any)
		if out, err := exec.Command("ip", "address", "replace", ip+"/32", "dev", "lo").CombinedOutput(); err != nil {
			return fmt.Errorf("add the address %s: %w: %s", ip, err, out)
		}
		listener, err := net.Listen("tcp", net.JoinHostPort(ip, fmt.Sprint(first["port"])))
		if err != nil {
			return err
		}
		k.listeners[uid] = listener
		go forward(listener, net.JoinHostPort("127.0.0.1", fmt.Sprint(first["targetPort"])))
	}
	return nil
}

// forwardPort serves a port-forward of the API server, with the protocol of the kubelet.
func forwardPort(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		logf("error", "port-forward: %v", err) // it is answered
		return
	}
	streams := make(chan httpstream.Stream, 16)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return // it is answered
	}
	defer conn.Close()
	failures := map[string]httpstream.Stream{} // by the number of the request
	for {
		select {
		case s := <-streams:
			number := s.Headers().Get("requestID")
			if s.Headers().Get("streamType") == "error" {
				failures[number] = s
				continue
			}
			go copyPort(s, failures[number])
		case <-conn.CloseChan():
			return
		}
	}
}

// copyPort connects the stream of a port-forward with the port that it names.
func copyPort(data, failures httpstream.Stream) {
	port, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", data.Headers().Get("port")))
	if err != nil {
		fmt.Fprintf(failures, "an error occurred forwarding: %v", err)
		_ = errors.Join(failures.Close(), data.Reset()) // either side may have ended the connection
		return
	}
	_ = failures.Close()
	done := make(chan struct{}, 2)
	pipe := func(to io.Writer, from io.Reader) {
		_, _ = io.Copy(to, from)
		done <- struct{}{}
	}
	go pipe(port, data)
	go pipe(data, port)
	<-done
	_ = errors.Join(port.Close(), data.Close())
	<-done
}
