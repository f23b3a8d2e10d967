package object

import "encoding/json"

// Stub makes an object of which nothing is known but its identity.
func Stub(apiVersion, kind, namespace, name, uid, resourceVersion string) *Object {
	metadata := map[string]string{"name": name}
	for key, value := range map[string]string{"namespace": namespace, "uid": uid, "resourceVersion": resourceVersion} {
		if value != "" {
			metadata[key] = value
		}
	}
	// Maps of strings always have a JSON.
	raw, _ := json.Marshal(map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata})
	return &Object{Raw: raw, APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, UID: uid, ResourceVersion: resourceVersion}
}
