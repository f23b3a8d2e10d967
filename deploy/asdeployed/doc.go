// Package asdeployed restricts an operator on this machine to the permissions of its deployment, and detects missing
// permissions. It creates the roles of the manifests, and passes the operator's requests to the cluster as the
// service account of the roles.
package asdeployed
