// Package asdeployed lets an operator on this machine have nothing but the permissions that it would have
// when deployed, and finds out which ones are missing: it creates the roles of the manifests, and passes
// the operator's requests to the cluster as the user that they are for.
package asdeployed
