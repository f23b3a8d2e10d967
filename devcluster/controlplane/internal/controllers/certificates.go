package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certificates "k8s.io/client-go/informers/certificates/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/certificates/approver"
	"k8s.io/kubernetes/pkg/controller/certificates/cleaner"
	"k8s.io/kubernetes/pkg/controller/certificates/clustertrustbundlepublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/certificates/signer"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/utils/clock"
)

// certificateControllers sign and publish certificates.
var certificateControllers = []controller{
	{name: names.CertificateSigningRequestSigningController, agent: "certificate-controller", build: buildSigners},
	{
		name: names.CertificateSigningRequestApprovingController, agent: "certificate-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := approver.NewCSRApprovingController(ctx, client, e.informers.Certificates().V1().CertificateSigningRequests())
			return workers(c.Run, 5), nil
		},
	},
	{
		name: names.CertificateSigningRequestCleanerController, agent: "certificate-controller",
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := cleaner.NewCSRCleanerController(client.CertificatesV1().CertificateSigningRequests(),
				e.informers.Certificates().V1().CertificateSigningRequests())
			return workers(c.Run, 1), nil
		},
	},
	{
		name: names.PodCertificateRequestCleanerController, agent: "podcertificaterequestcleaner",
		gates: []featuregate.Feature{features.PodCertificateRequest},
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := cleaner.NewPCRCleanerController(client, e.informers.Certificates().V1().PodCertificateRequests(), clock.RealClock{},
				15*time.Minute, 5*time.Minute)
			return workers(c.Run, 1), nil
		},
	},
	{
		name: names.RootCACertificatePublisherController, agent: "root-ca-cert-publisher",
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), client, e.rootCA)
			return workers(c.Run, 1), err
		},
	},
	{
		name: names.KubeAPIServerClusterTrustBundlePublisherController, agent: "kube-apiserver-serving-clustertrustbundle-publisher",
		gates: []featuregate.Feature{features.ClusterTrustBundle},
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			ca, err := dynamiccertificates.NewStaticCAContent("kube-apiserver-serving", e.rootCA)
			if err != nil {
				return nil, fmt.Errorf("use the certificate authority: %w", err)
			}
			c, err := clustertrustbundlepublisher.NewGAClusterTrustBundlePublisher("kubernetes.io/kube-apiserver-serving", ca, client)
			if err != nil {
				return nil, err
			}
			return c.Run, nil
		},
	},
}

// buildSigners builds a controller for each of the built-in signers. All of them use the certificate authority of the
// cluster.
func buildSigners(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	requests, s := e.informers.Certificates().V1().CertificateSigningRequests(), e.settings.CSRSigningController
	type newSigner func(context.Context, kubernetes.Interface, certificates.CertificateSigningRequestInformer, string, string, time.Duration) (*signer.CSRSigningController, error)
	var parts []run
	for _, n := range []newSigner{
		signer.NewKubeletServingCSRSigningController, signer.NewKubeletClientCSRSigningController,
		signer.NewKubeAPIServerClientCSRSigningController, signer.NewLegacyUnknownCSRSigningController,
	} {
		c, err := n(ctx, client, requests, s.ClusterSigningCertFile, s.ClusterSigningKeyFile, s.ClusterSigningDuration.Duration)
		if err != nil {
			return nil, err
		}
		parts = append(parts, workers(c.Run, 5))
	}
	return together(parts...), nil
}
