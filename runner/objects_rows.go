package runner

import "github.com/kopf-dev/kopf/sdk/inspect"

// RowQuery selects objects of a resource in a namespace.
type RowQuery struct {
	Resource  string     // key of the resource
	Namespace string     // empty for resources without namespaces
	Labels    string     // label selector; empty for all objects
	Name      string     // name of the only object; empty for all objects
	Hidden    [][]string // paths of fields whose values are replaced in the columns
}

// Row is an object with its columns.
type Row struct {
	inspect.KindRef          // the Kind may be empty
	Columns         []Column // columns of "kubectl get" besides the name; those of "-o wide" are left out
}

// Column is a value with the title that kubectl shows above it, such as "READY".
type Column struct{ Title, Text string }
