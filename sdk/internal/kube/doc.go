// Package kube is the client of the Kubernetes API server: requests with retries, classified errors, streams, discovery,
// and credentials.
package kube
