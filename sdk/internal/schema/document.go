package schema

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Document has the OpenAPI schemas of a group and version: of the kinds, and of the types that the kinds refer to. It
// is safe for concurrent use.
type Document struct{ schemas map[string]*node }

// node is a part of a schema, reduced to the names of its fields.
type node struct {
	Ref             string           `json:"$ref"`
	AllOf           []*node          `json:"allOf"`
	Properties      map[string]*node `json:"properties"`
	Additional      *additional      `json:"additionalProperties"`
	Items           *node            `json:"items"`
	PreserveUnknown bool             `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds           []kind           `json:"x-kubernetes-group-version-kind"`
	ListType        string           `json:"x-kubernetes-list-type"`
	MapKeys         []string         `json:"x-kubernetes-list-map-keys"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// additional is a schema of the values of a map, or whether there may be any.
type additional struct {
	allowed bool
	values  *node
}

func (a *additional) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &a.allowed); err == nil {
		return nil
	}
	a.allowed = true
	return json.Unmarshal(text, &a.values)
}

// ParseDocument parses a document of OpenAPI v3.
func ParseDocument(text []byte) (*Document, error) {
	var parsed struct {
		Components struct {
			Schemas map[string]*node `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &parsed); err != nil {
		return nil, fmt.Errorf("parse the schemas of the API server: %w", err)
	}
	return &Document{parsed.Components.Schemas}, nil
}

// Kind returns the schema of a kind; nil if the document has none.
func (d *Document) Kind(group, version, name string) *Schema {
	for _, n := range d.schemas {
		if n == nil {
			continue
		}
		for _, k := range n.Kinds {
			if k == (kind{group, version, name}) {
				return &Schema{d, n}
			}
		}
	}
	return nil
}

// Schema is the schema of a kind.
type Schema struct {
	document *Document
	root     *node
}

// maxReferences bounds how many references follow each other: a document may refer to itself.
const maxReferences = 16

// resolve returns the nodes that together describe a value.
func (d *Document) resolve(n *node, depth int) []*node {
	if n == nil || depth > maxReferences {
		return nil
	}
	all := []*node{n}
	if name, ok := strings.CutPrefix(n.Ref, "#/components/schemas/"); ok {
		all = append(all, d.resolve(d.schemas[name], depth+1)...)
	}
	for _, part := range n.AllOf {
		all = append(all, d.resolve(part, depth+1)...)
	}
	return all
}

// view merges the nodes of a value.
type view struct {
	properties map[string]*node
	values     *node // schema of a map's values, for all keys that are not properties
	items      *node
	open       bool // any field may be there
}

func (d *Document) view(n *node) view {
	v := view{properties: map[string]*node{}}
	for _, part := range d.resolve(n, 0) {
		for name, property := range part.Properties {
			v.properties[name] = property
		}
		if part.Items != nil {
			v.items = part.Items
		}
		v.open = v.open || part.PreserveUnknown
		if part.Additional != nil && part.Additional.allowed {
			v.values = part.Additional.values
			v.open = v.open || v.values == nil
		}
	}
	// A schema that says nothing about fields is no help.
	v.open = v.open || len(v.properties) == 0 && v.values == nil
	return v
}
