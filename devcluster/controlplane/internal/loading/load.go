// Package loading stores objects of another cluster as they are: with their uids, generations, statuses, times and owners,
// all of which the API server would set anew.
package loading

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/kubeapiserver"

	// Their schemes decide how objects of their groups are stored.
	_ "k8s.io/kubernetes/pkg/controlplane"
)

// root is the prefix of all keys of the API server.
const root = "/registry/"

// key returns the key under which the API server stores an object. Resources of its own groups are at their plural, with some
// exceptions; custom resources, definitions, and API services are at their group and plural.
func key(resource schema.GroupResource, namespace, name string) string {
	prefix := resource.Group + "/" + resource.Resource
	if builtIn(resource) {
		prefix = strings.ToLower(resource.Resource)
		if special, ok := kubeapiserver.SpecialDefaultResourcePrefixes[resource]; ok {
			prefix = special
		}
	}
	if namespace != "" {
		return root + prefix + "/" + namespace + "/" + name
	}
	return root + prefix + "/" + name
}

func builtIn(resource schema.GroupResource) bool {
	return legacyscheme.Scheme.IsGroupRegistered(resource.Group)
}

// stored returns the key and the value of an object. It refuses objects that the API server could not read: it would fail
// to read all objects of the resource.
func stored(resource schema.GroupResource, object []byte) (string, []byte, error) {
	var tree map[string]json.RawMessage
	if err := json.Unmarshal(object, &tree); err != nil {
		return "", nil, fmt.Errorf("decode an object of %s: %w", resource, err)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(tree["metadata"], &fields); err != nil {
		return "", nil, fmt.Errorf("decode the metadata of an object of %s: %w", resource, err)
	}
	// It is the revision of the value in etcd.
	delete(fields, "resourceVersion")
	delete(fields, "selfLink")
	metadata, err := json.Marshal(fields)
	if err != nil {
		return "", nil, fmt.Errorf("encode the metadata of an object of %s: %w", resource, err)
	}
	tree["metadata"] = metadata
	value, err := json.Marshal(tree)
	if err != nil {
		return "", nil, fmt.Errorf("encode an object of %s: %w", resource, err)
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(value, &meta); err != nil {
		return "", nil, fmt.Errorf("decode the metadata of an object of %s: %w", resource, err)
	}
	if err := check(resource, &meta, value); err != nil {
		return "", nil, fmt.Errorf("the object %s/%s of %s: %w", meta.Namespace, meta.Name, resource, err)
	}
	return key(resource, meta.Namespace, meta.Name), value, nil
}

func check(resource schema.GroupResource, meta *metav1.PartialObjectMetadata, value []byte) error {
	kind := meta.GroupVersionKind()
	switch {
	case meta.Name == "" || strings.ContainsRune(meta.Name+meta.Namespace, '/'):
		return errors.New("it has no valid name")
	case meta.UID == "":
		return errors.New("it has no uid, without which the server takes it for a new one")
	case kind.Kind == "" || kind.Version == "":
		return errors.New("it has no kind")
	case kind.Group != resource.Group:
		return fmt.Errorf("its group is %q", kind.Group)
	case !builtIn(resource):
		return nil
	}
	_, _, err := legacyscheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		return fmt.Errorf("this version of Kubernetes does not have %s", kind.GroupVersion())
	}
	return err
}
