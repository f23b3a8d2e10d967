// Command registry stands in for the image of a container registry in tests.
package main

import (
	"log"
	"net/http"

	"github.com/google/go-containerregistry/pkg/registry"
)

func main() { log.Fatal(http.ListenAndServe(":5000", registry.New())) }
