package main

import (
	"context"
	"net"
	"net/http"
	"path/filepath"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// serveWebhook serves the validating handler of bench/operator at an address, without a cluster. The figure "admission"
// compares the two.
func serveWebhook(address, cert, key string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	server := webhook.NewServer(webhook.Options{
		Host: host, Port: number, CertDir: filepath.Dir(cert), CertName: filepath.Base(cert), KeyName: filepath.Base(key),
	})
	server.Register("/checkField", admission.WithValidator(scheme(), fieldValidator{}))
	return server.Start(ctrl.SetupSignalHandler())
}

// fieldValidator denies one value of a field.
type fieldValidator struct{}

// ValidateCreate implements [admission.Validator].
func (fieldValidator) ValidateCreate(_ context.Context, e *KopfExample) (admission.Warnings, error) {
	return nil, checkField(e)
}

// ValidateUpdate implements [admission.Validator].
func (fieldValidator) ValidateUpdate(_ context.Context, _, e *KopfExample) (admission.Warnings, error) {
	return nil, checkField(e)
}

// ValidateDelete implements [admission.Validator].
func (fieldValidator) ValidateDelete(context.Context, *KopfExample) (admission.Warnings, error) {
	return nil, nil
}

func checkField(e *KopfExample) error {
	if e.Spec.Field != "wrong" {
		return nil
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Message: "change the field"}}
}
