// Package apiclient talks to the Kubernetes API: a few verbs over client-go's transport,
// with retries of what is likely to heal by itself, and renewal of credentials that the
// cluster does not accept any more. It stays away from client-go's typed clients and its
// discovery, since those link in every type of the API.
package apiclient
