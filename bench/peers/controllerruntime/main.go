// Controllerruntime is the operator of bench/operator written with controller-runtime: for each
// new object, it stores the diff base in an annotation and a result in the status. The figure
// "peer" compares the two. With KOPF_BENCH_CHILDREN, it keeps four children of each object for the
// figure "childpeer"; with -webhook, it answers admission reviews instead.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// handled is the annotation with the diff base.
const handled = "kopf.zalando.org/last-handled-configuration"

// workers is the number of concurrent reconciles, enough to keep the server busy.
const workers = 32

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "controllerruntime:", err)
		os.Exit(1)
	}
}

func run() error {
	name := flag.String("context", "", "the context of the kubeconfig")
	namespace := flag.String("namespace", "", "the namespace to serve")
	address := flag.String("webhook", "", "answer admission reviews at this address, and do nothing else")
	cert, key := flag.String("cert", "", "the certificate of the webhook"), flag.String("key", "", "its key")
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if *address != "" {
		return serveWebhook(*address, *cert, *key)
	}
	config, err := configuration(flag.Lookup("kubeconfig").Value.String(), *name)
	if err != nil {
		return err
	}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme(),
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
	})
	if err != nil {
		return err
	}
	b := ctrl.NewControllerManagedBy(m).For(&KopfExample{}).Named("examples").WithOptions(controller.Options{MaxConcurrentReconciles: workers})
	if os.Getenv(childrenVariable) != "" {
		b = b.Owns(&corev1.ConfigMap{}).Owns(&corev1.Secret{}).Owns(&corev1.ServiceAccount{}).Owns(&networkingv1.NetworkPolicy{})
		err = b.Complete(childReconciler{m.GetClient()})
	} else {
		err = b.Complete(reconciler{m.GetClient()})
	}
	if err != nil {
		return err
	}
	return m.Start(ctrl.SetupSignalHandler())
}

func configuration(path, name string) (*rest.Config, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: path}, &clientcmd.ConfigOverrides{CurrentContext: name}).ClientConfig()
	if err == nil {
		config.QPS = -1 // no limit, as in the SDK
	}
	return config, err
}

type reconciler struct{ client.Client }

// Reconcile handles the creation of an object.
func (r reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	example := &KopfExample{}
	if err := r.Get(ctx, request.NamespacedName, example); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if example.Annotations[handled] != "" {
		return ctrl.Result{}, nil
	}
	log := ctrl.LoggerFrom(ctx)
	fmt.Println(example.Name, time.Now().UnixNano())
	log.Info("Handler 'create' succeeded.")
	text, err := json.Marshal(map[string]any{
		"spec":     example.Spec,
		"metadata": map[string]any{"labels": example.Labels, "annotations": example.Annotations},
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{handled: string(text) + "\n"}}})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Patch(ctx, example, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return ctrl.Result{}, err
	}
	result, err := json.Marshal(map[string]any{"status": map[string]any{"create": Result{"message": "hello world"}}})
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.Status().Patch(ctx, example, client.RawPatch(types.MergePatchType, result)); err != nil {
		return ctrl.Result{}, err
	}
	log.Info("Creation is processed: 1 succeeded; 0 failed.")
	return ctrl.Result{}, nil
}
