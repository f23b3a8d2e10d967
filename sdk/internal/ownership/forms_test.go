package ownership

import (
	"fmt"
	"strings"
)

// change is a change of a field by others.
type change struct {
	name  string
	path  steps
	value any // nil removes the field
	// removes is true for a list with fewer members, which an apply by others does not remove.
	removes bool
	lost    []string
	taken   string // the path under which the taker has the field; empty if the field has no owner afterwards
}

// form is an object that we apply, with the changes that others make.
type form struct {
	name       string
	collection string // a URL, in which NAMESPACE stands for the namespace
	object     tree
	changes    []change
	custom     bool
}

func (f form) paths(namespace string) (collection, path string) {
	collection = strings.ReplaceAll(f.collection, "NAMESPACE", namespace)
	return collection, collection + "/" + text(f.object, "metadata", "name")
}

// named returns an object with a name and the label by which it is watched.
func named(apiVersion, kind, name string, parts tree) tree {
	object := tree{"apiVersion": apiVersion, "kind": kind, "metadata": tree{
		"name": name, "labels": tree{ownedBy: name, "tier": "web"}, "annotations": tree{"note": "ours"},
	}}
	for key, part := range parts {
		object[key] = part
	}
	return object
}

// marks are changes that others make to the metadata of all kinds.
var marks = []change{
	{name: "label changed", path: steps{"metadata", "labels", "tier"}, value: "db", lost: []string{".metadata.labels.tier"}, taken: ".metadata.labels.tier"},
	{name: "label removed", path: steps{"metadata", "labels", "tier"}, lost: []string{".metadata.labels.tier"}},
	{name: "annotation changed", path: steps{"metadata", "annotations", "note"}, value: "theirs", lost: []string{".metadata.annotations.note"}, taken: ".metadata.annotations.note"},
	{name: "foreign annotation added", path: steps{"metadata", "annotations", "foreign"}, value: "x", taken: ".metadata.annotations.foreign"},
}

// podTemplate has lists of both kinds: maps by keys, and atomic ones.
func podTemplate() tree {
	return tree{
		"metadata": tree{"labels": tree{"app": "a"}},
		"spec": tree{
			"containers": []any{
				tree{
					"name": "web", "image": "i:1",
					"args":      []any{"-v"},
					"env":       []any{tree{"name": "EMPTY"}, tree{"name": "MODE", "value": "fast"}},
					"ports":     []any{tree{"containerPort": 80}},
					"resources": tree{"limits": tree{"cpu": "1000m"}},
				},
				tree{"name": "side", "image": "s:1"},
			},
			"nodeSelector": tree{"disk": "ssd"},
		},
	}
}

const containers = ".spec.template.spec.containers"

// web is the step to a field of the first container.
func web(rest ...any) steps {
	return append(steps{"spec", "template", "spec", "containers", tree{"name": "web"}}, rest...)
}

// workload are the changes of objects with a template of pods.
var workload = []change{
	{name: "image", path: web("image"), value: "evil:1", lost: []string{containers + `[name="web"].image`}, taken: containers + `[name="web"].image`},
	{name: "value of a variable", path: web("env", tree{"name": "MODE"}, "value"), value: "slow",
		lost: []string{containers + `[name="web"].env[name="MODE"].value`}, taken: containers + `[name="web"].env[name="MODE"].value`},
	{name: "variable removed", path: web("env", tree{"name": "MODE"}), lost: []string{
		containers + `[name="web"].env[name="MODE"]`, containers + `[name="web"].env[name="MODE"].name`, containers + `[name="web"].env[name="MODE"].value`,
	}},
	{name: "limit", path: web("resources", "limits", "cpu"), value: "2", lost: []string{containers + `[name="web"].resources.limits.cpu`}, taken: containers + `[name="web"].resources.limits.cpu`},
	{name: "atomic list", path: web("args"), value: []any{"-v", "-x"}, lost: []string{containers + `[name="web"].args`}, taken: containers + `[name="web"].args`},
	{name: "atomic map", path: steps{"spec", "template", "spec", "nodeSelector"}, value: tree{"disk": "hdd"},
		lost: []string{".spec.template.spec.nodeSelector"}, taken: ".spec.template.spec.nodeSelector"},
	{name: "container removed", path: steps{"spec", "template", "spec", "containers", tree{"name": "side"}},
		lost: []string{containers + `[name="side"]`, containers + `[name="side"].image`, containers + `[name="side"].name`}},
	{name: "replicas", path: steps{"spec", "replicas"}, value: 2, lost: []string{".spec.replicas"}, taken: ".spec.replicas"},
	{name: "defaulted field", path: steps{"spec", "revisionHistoryLimit"}, value: 3, taken: ".spec.revisionHistoryLimit"},
}

// builtin are objects of built-in kinds.
var builtin = []form{
	{
		name: "ConfigMap", collection: "/api/v1/namespaces/NAMESPACE/configmaps",
		object: named("v1", "ConfigMap", "settings", tree{"data": tree{"a": "1", "b": "2"}}),
		changes: []change{
			{name: "key", path: steps{"data", "a"}, value: "9", lost: []string{".data.a"}, taken: ".data.a"},
			{name: "key removed", path: steps{"data", "a"}, lost: []string{".data.a"}},
			{name: "foreign key", path: steps{"data", "c"}, value: "3", taken: ".data.c"},
		},
	},
	{
		name: "Secret", collection: "/api/v1/namespaces/NAMESPACE/secrets",
		object:  named("v1", "Secret", "credentials", tree{"data": tree{"a": "YQ==", "b": "Yg=="}}),
		changes: []change{{name: "key", path: steps{"data", "a"}, value: "Yw==", lost: []string{".data.a"}, taken: ".data.a"}},
	},
	{
		name: "Deployment", collection: "/apis/apps/v1/namespaces/NAMESPACE/deployments",
		object: named("apps/v1", "Deployment", "web", tree{"spec": tree{
			"replicas": 3, "paused": true, "selector": tree{"matchLabels": tree{"app": "a"}}, "template": podTemplate(),
		}}),
		changes: workload,
	},
	{
		name: "StatefulSet", collection: "/apis/apps/v1/namespaces/NAMESPACE/statefulsets",
		object: named("apps/v1", "StatefulSet", "db", tree{"spec": tree{
			"replicas": 1, "serviceName": "db", "selector": tree{"matchLabels": tree{"app": "a"}}, "template": podTemplate(),
		}}),
		changes: workload,
	},
	{
		name: "Service", collection: "/api/v1/namespaces/NAMESPACE/services",
		object: named("v1", "Service", "front", tree{"spec": tree{
			"selector": tree{"app": "a"}, "ports": []any{tree{"name": "http", "port": 80}, tree{"name": "https", "port": 443}},
		}}),
		changes: []change{
			{name: "name of a port", path: steps{"spec", "ports", tree{"port": 80, "protocol": "TCP"}, "name"}, value: "web",
				lost: []string{`.spec.ports[port=80,protocol="TCP"].name`}, taken: `.spec.ports[port=80,protocol="TCP"].name`},
			{name: "atomic selector", path: steps{"spec", "selector"}, value: tree{"app": "b"}, lost: []string{".spec.selector"}, taken: ".spec.selector"},
		},
	},
	{
		name: "Ingress", collection: "/apis/networking.k8s.io/v1/namespaces/NAMESPACE/ingresses",
		object: named("networking.k8s.io/v1", "Ingress", "edge", tree{"spec": tree{"rules": []any{tree{"host": "a.example.com"}}}}),
		changes: []change{{name: "atomic list of rules", path: steps{"spec", "rules"}, value: []any{tree{"host": "b.example.com"}},
			lost: []string{".spec.rules"}, taken: ".spec.rules"}},
	},
	{
		name: "ServiceAccount", collection: "/api/v1/namespaces/NAMESPACE/serviceaccounts",
		object: named("v1", "ServiceAccount", "robot", tree{"automountServiceAccountToken": false}),
		changes: []change{{name: "top-level field", path: steps{"automountServiceAccountToken"}, value: true,
			lost: []string{".automountServiceAccountToken"}, taken: ".automountServiceAccountToken"}},
	},
	{
		name: "RoleBinding", collection: "/apis/rbac.authorization.k8s.io/v1/namespaces/NAMESPACE/rolebindings",
		object: named("rbac.authorization.k8s.io/v1", "RoleBinding", "grant", tree{
			"roleRef":  tree{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
			"subjects": []any{tree{"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}},
		}),
		changes: []change{{name: "atomic list of subjects", path: steps{"subjects"}, value: []any{tree{"kind": "User", "name": "bob", "apiGroup": "rbac.authorization.k8s.io"}},
			lost: []string{".subjects"}, taken: ".subjects"}},
	},
	{
		name: "HorizontalPodAutoscaler", collection: "/apis/autoscaling/v2/namespaces/NAMESPACE/horizontalpodautoscalers",
		object: named("autoscaling/v2", "HorizontalPodAutoscaler", "scaler", tree{"spec": tree{
			"maxReplicas": 5, "scaleTargetRef": tree{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
		}}),
		changes: []change{{name: "number", path: steps{"spec", "maxReplicas"}, value: 9, lost: []string{".spec.maxReplicas"}, taken: ".spec.maxReplicas"}},
	},
}

// customSpec has a list of each type, a default, and fields without a schema.
func customSpec() tree {
	return tree{
		"size":    "1Gi",
		"color":   "red",
		"byName":  []any{tree{"name": "x", "value": "1"}, tree{"name": "y", "value": "2"}},
		"tags":    []any{"blue", "green"},
		"order":   []any{"one", "two"},
		"options": tree{"a": "1", "b": "2"},
		"whole":   tree{"a": "1", "b": "2"},
		"free":    tree{"deep": tree{"n": 1}, "list": []any{1, 2}},
	}
}

// structured are changes of fields that have a schema; free are changes of fields that have none.
var (
	structured = []change{
		{name: "leaf", path: steps{"spec", "size"}, value: "2Gi", lost: []string{".spec.size"}, taken: ".spec.size"},
		{name: "defaulted leaf removed", path: steps{"spec", "color"}, lost: []string{".spec.color"}, taken: ".spec.color"},
		{name: "field of an item", path: steps{"spec", "byName", tree{"name": "x"}, "value"}, value: "9",
			lost: []string{`.spec.byName[name="x"].value`}, taken: `.spec.byName[name="x"].value`},
		{name: "item removed", path: steps{"spec", "byName", tree{"name": "x"}},
			lost: []string{`.spec.byName[name="x"]`, `.spec.byName[name="x"].name`, `.spec.byName[name="x"].value`}},
		{name: "member of a set removed", path: steps{"spec", "tags"}, value: []any{"green"}, removes: true, lost: []string{`.spec.tags[="blue"]`}},
		{name: "atomic list reordered", path: steps{"spec", "order"}, value: []any{"two", "one"}, lost: []string{".spec.order"}, taken: ".spec.order"},
		{name: "member of a map", path: steps{"spec", "options", "a"}, value: "9", lost: []string{".spec.options.a"}, taken: ".spec.options.a"},
		{name: "atomic map", path: steps{"spec", "whole"}, value: tree{"a": "9", "b": "2"}, lost: []string{".spec.whole"}, taken: ".spec.whole"},
	}
	free = []change{
		{name: "leaf without a schema", path: steps{"spec", "free", "deep", "n"}, value: 2, lost: []string{".spec.free.deep.n"}, taken: ".spec.free.deep.n"},
		{name: "list without a schema", path: steps{"spec", "free", "list"}, value: []any{1, 2, 3}, lost: []string{".spec.free.list"}, taken: ".spec.free.list"},
		{name: "branch without a schema removed", path: steps{"spec", "free", "deep"}, lost: []string{".spec.free.deep", ".spec.free.deep.n"}},
	}
)

// definition returns the definition of a custom resource of which the first version is stored.
func definition(group, plural, kind string, schema tree, versions ...string) tree {
	all := []any{}
	for i, version := range versions {
		all = append(all, tree{
			"name": version, "served": true, "storage": i == 0, "schema": tree{"openAPIV3Schema": schema},
			"subresources": tree{"status": tree{}, "scale": tree{"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
		})
	}
	return tree{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": tree{"name": plural + "." + group},
		"spec": tree{
			"group": group, "scope": "Namespaced", "names": tree{"plural": plural, "singular": strings.ToLower(kind), "kind": kind},
			"versions": all,
		},
	}
}

// schemaless keeps all fields and says nothing about them.
func schemaless() tree { return tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true} }

// structuredSchema has a list of each type.
func structuredSchema() tree {
	str := tree{"type": "string"}
	return tree{"type": "object", "properties": tree{
		"spec": tree{"type": "object", "properties": tree{
			"size":     str,
			"replicas": tree{"type": "integer"},
			"color":    tree{"type": "string", "default": "green"},
			"byName": tree{
				"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": []any{"name"},
				"items": tree{"type": "object", "required": []any{"name"}, "properties": tree{"name": str, "value": str}},
			},
			"tags":    tree{"type": "array", "x-kubernetes-list-type": "set", "items": str},
			"order":   tree{"type": "array", "x-kubernetes-list-type": "atomic", "items": str},
			"options": tree{"type": "object", "additionalProperties": str},
			"whole":   tree{"type": "object", "additionalProperties": str, "x-kubernetes-map-type": "atomic"},
			"free":    tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
		}},
		"status": tree{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
	}}
}

// customs returns a custom resource of a version of a group.
func customs(group, version, plural, kind string) (collection string, object tree) {
	return fmt.Sprintf("/apis/%s/%s/namespaces/NAMESPACE/%s", group, version, plural),
		named(group+"/"+version, kind, "thing", tree{"spec": customSpec()})
}
