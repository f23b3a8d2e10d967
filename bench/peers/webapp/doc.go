// Package webapp compares two operators that do the same: each web application has a ConfigMap, a Deployment, a Service and,
// with a host, an Ingress; the status has the address and the readiness. Package kopfapp is written with Kopf, and package
// runtimeapp with controller-runtime. The test takes both through the same events and compares the objects. The documentation
// counts their lines.
package webapp
