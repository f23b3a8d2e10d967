// Package manifests writes the manifests that a deployed operator needs, from what the operator says of
// itself: its service account, the permissions of its handlers, and its deployment.
package manifests
