// Package e2e tests operators against a real API server.
package e2e
