// Package manifests writes the manifests of a deployed operator from the operator's description of itself: the
// service account, the permissions of the handlers, and the deployment.
package manifests
