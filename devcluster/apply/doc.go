// Package apply applies manifests to a cluster, as kubectl apply --server-side does.
//
// A path is a file of YAML or JSON documents, or a directory. Of a directory, all files ending
// in .yaml, .yml or .json are read, in the order of their names, but not its subdirectories.
// As with kubectl -f, an object without a namespace goes to the caller's default namespace,
// and a namespace that does not exist is an error.
//
// Unlike kubectl, it applies CustomResourceDefinitions first and waits until their resources
// are served, then Namespaces, then everything else in the order of the documents.
//
// All files are read before anything is applied, so an invalid file changes nothing. Fields of other field managers
// are overwritten, because the files express the developer's intent.
package apply
