package hierarchy

import "github.com/kopf-dev/kopf/sdk/internal/object"

// OwnerReference returns the reference to an owner. The controller is the only owner that
// manages the object; blockDeletion delays a foreground deletion of the owner until the object
// is deleted. If they are nil, the server decides.
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
		if s := text(value); s != nil {
			ref[key] = *s
		}
	}
	return ref
}

// AppendOwnerReference adds an owner to objects that do not have it. It returns an error if the
// owner has no uid and the objects have other owners.
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

// RemoveOwnerReference removes an owner from objects.
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
		return nil, nil, &unsupportedError{value}
	}
}

// indexOf finds an owner by its uid, as names are reused.
func indexOf(refs []any, ref map[string]any) (int, error) {
	uid := text(ref["uid"])
	if uid == nil && len(refs) > 0 {
		return -1, errNoUID
	}
	for i, other := range refs {
		if other, ok := other.(map[string]any); ok && other["uid"] == *uid {
			return i, nil
		}
	}
	return -1, nil
}
