package hierarchy

import "github.com/kopf-dev/kopf/sdk/internal/object"

// OwnerReference is what makes an object the owner of others. The controller is the one
// owner that manages the object; an owner that blocks its deletion is deleted after the
// object where the deletion is in the foreground. Nil leaves either to the server.
func OwnerReference(owner map[string]any, controller, blockDeletion *bool) map[string]any {
	meta := object.Metadata(owner)
	ref := map[string]any{}
	if controller != nil {
		ref["controller"] = *controller
	}
	if blockDeletion != nil {
		ref["blockOwnerDeletion"] = *blockDeletion
	}
	for key, value := range map[string]any{
		"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"],
	} {
		if s := text(value); s != nil && *s != "" {
			ref[key] = *s
		}
	}
	return ref
}

// AppendOwnerReference adds an owner to objects that do not have it yet. It is an error if
// it cannot be told from the owners that they have, because it has no uid.
func AppendOwnerReference(objs any, ref map[string]any) error {
	return each(objs, nil, func(obj map[string]any) error {
		meta, refs, err := owners(obj)
		if err != nil {
			return err
		}
		owned, err := indexOf(refs, ref)
		if err != nil || owned >= 0 {
			return err
		}
		meta["ownerReferences"] = append(refs, object.CloneMap(ref))
		return nil
	})
}

// RemoveOwnerReference takes an owner from objects that have it.
func RemoveOwnerReference(objs any, ref map[string]any) error {
	return each(objs, nil, func(obj map[string]any) error {
		meta, refs, err := owners(obj)
		if err != nil {
			return err
		}
		kept := make([]any, 0, len(refs))
		for _, other := range refs {
			owned, err := indexOf([]any{other}, ref)
			if err != nil {
				return err
			}
			if owned < 0 {
				kept = append(kept, other)
			}
		}
		meta["ownerReferences"] = kept
		return nil
	})
}

func owners(obj map[string]any) (meta map[string]any, refs []any, err error) {
	meta, err = child(obj, "metadata")
	if err != nil {
		return nil, nil, err
	}
	switch value := meta["ownerReferences"].(type) {
	case nil:
		return meta, nil, nil
	case []any:
		return meta, value, nil
	default:
		return nil, nil, &UnsupportedError{value}
	}
}

// indexOf finds an owner among others by its uid: names are given anew.
func indexOf(refs []any, ref map[string]any) (int, error) {
	uid := text(ref["uid"])
	if uid == nil && len(refs) > 0 {
		return -1, ErrNoUID
	}
	for i, other := range refs {
		if other, ok := other.(map[string]any); ok && other["uid"] == *uid {
			return i, nil
		}
	}
	return -1, nil
}
