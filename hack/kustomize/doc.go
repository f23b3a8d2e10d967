// Package kustomize tests that kustomizations can include the manifests that kopf prints. It is a module of its own,
// so that the tool does not depend on the library of kustomize.
package kustomize
