// Command kopf is the tool for people who write Kubernetes operators.
package main

func main() {}
