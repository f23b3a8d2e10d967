// Package observe tells others what the operator does: in log lines, as Kubernetes events, and to meters.
package observe
