// Package podinspector reaches the inspector of an operator that runs in a pod: it finds the pod, the port and
// the token, and connects through the API server.
package podinspector
