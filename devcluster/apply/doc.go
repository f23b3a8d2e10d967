// Package apply brings manifests to a cluster, as kubectl apply --server-side does.
//
// A path is a file of YAML or JSON documents, or a directory, of which all files ending in .yaml, .yml or .json
// are taken, in the order of their names, and not those of its subdirectories. That is what
// kubectl -f does; and as there, an object without a namespace goes to the default one
// of the caller, and a namespace that does not exist is an error.
//
// Other than there, the order of the documents does not matter where it cannot be meant:
// CustomResourceDefinitions come first, and the rest waits until their resources are
// served; then come Namespaces, then everything else as written.
//
// All files are read before anything is applied, so that a mistake in one of them changes nothing.
// Fields that somebody else has set are taken over: the files are what the developer wants.
package apply
