package k3d

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/devcluster"
)

// webhook is an admission webhook on this machine that denies the creation of ConfigMaps.
type webhook struct {
	t      *testing.T
	client dynamic.Interface
}

// newWebhook serves the webhook on all interfaces, and registers it in the cluster under the alias
// of this machine.
func (w *world) newWebhook(info devcluster.Info) *webhook {
	w.t.Helper()
	const host = "host.k3d.internal"
	certificate := selfSigned(w.t, host)
	listener, err := net.Listen("tcp", ":0")
	if err != nil {
		w.t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(deny)}
	go server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}}))
	w.t.Cleanup(func() { server.Close() })

	config, err := clientcmd.BuildConfigFromFlags("", info.Kubeconfig)
	if err != nil {
		w.t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		w.t.Fatal(err)
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	configuration := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": "denier"},
		"webhooks": []any{map[string]any{
			"name": "denier.kopf.test", "sideEffects": "None", "admissionReviewVersions": []any{"v1"}, "timeoutSeconds": int64(3), "failurePolicy": "Fail",
			"rules":             []any{map[string]any{"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "operations": []any{"CREATE"}, "resources": []any{"configmaps"}}},
			"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": "default"}},
			"objectSelector":    map[string]any{"matchLabels": map[string]any{"denied": "true"}},
			"clientConfig": map[string]any{
				"url":      fmt.Sprintf("https://%s:%d/", host, listener.Addr().(*net.TCPAddr).Port),
				"caBundle": base64.StdEncoding.EncodeToString(ca),
			},
		}},
	}}
	webhooks := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}
	if _, err := client.Resource(webhooks).Create(w.t.Context(), configuration, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return &webhook{t: w.t, client: client}
}

// expectDenied fails unless the API server asks the webhook, and rejects an object for its reason.
// The API server learns of webhooks, and starts, with a delay.
func (h *webhook) expectDenied(name string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	configMaps := h.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default")
	for n := 0; ; n++ {
		_, err := configMaps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, n), "labels": map[string]any{"denied": "true"}},
		}}, metav1.CreateOptions{})
		if err != nil && strings.Contains(err.Error(), "denied by this machine") {
			return
		}
		select {
		case <-ctx.Done():
			h.t.Fatalf("%s: the webhook does not deny: %v", name, err)
		case <-tick.C:
		}
	}
}

// deny answers admission reviews.
func deny(w http.ResponseWriter, r *http.Request) {
	var review struct {
		Request struct{ UID string }
	}
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": review.Request.UID, "allowed": false, "status": map[string]any{"message": "denied by this machine"}},
	})
}

// selfSigned returns a certificate for a host.
func selfSigned(t *testing.T, host string) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
