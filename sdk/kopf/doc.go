// Package kopf is a framework for Kubernetes operators made of plain functions.
package kopf
