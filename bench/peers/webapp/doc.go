// Package webapp compares two operators with the same behaviour. For each web application, they keep a ConfigMap, a Deployment, a
// Service and, with a host, an Ingress, and write the address and the readiness to the status. Package kopfapp is written with
// Kopf, and package runtimeapp with controller-runtime. The test takes both operators through the same events, and compares the
// objects. The documentation states the number of their lines.
package webapp
