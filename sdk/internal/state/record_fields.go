package state

// RecordFields returns the paths of the fields in which storages keep records under fixed names: the diff base, the marks that touch an
// object, and the maps with progress. It returns nil if the storage of the diff base is user-defined, because its fields are unknown.
func RecordFields(base DiffBaseStorage, progress ProgressStorage) [][]string {
	fields, known := diffBaseFields(base)
	if !known {
		return nil
	}
	return append(fields, progressFields(progress)...)
}

func diffBaseFields(storage DiffBaseStorage) (fields [][]string, known bool) {
	switch s := storage.(type) {
	case *AnnotationsDiffBase:
		return annotationFields(s.Prefix, s.V1, s.Key), true
	case *StatusDiffBase:
		return [][]string{s.Field}, true
	case MultiDiffBase:
		for _, one := range s {
			more, ok := diffBaseFields(one)
			if !ok {
				return nil, false
			}
			fields = append(fields, more...)
		}
		return fields, true
	}
	return nil, false
}

func progressFields(storage ProgressStorage) (fields [][]string) {
	switch s := storage.(type) {
	case *AnnotationsProgress:
		return annotationFields(s.Prefix, s.V1, s.TouchKey)
	case *StatusProgress:
		return [][]string{s.Field, s.TouchField}
	case MultiProgress:
		for _, one := range s {
			fields = append(fields, progressFields(one)...)
		}
	}
	return fields
}

// annotationFields returns the paths of the annotations for a key: of ReplicaSets of Deployments, and of other objects.
func annotationFields(prefix string, v1 bool, key string) (fields [][]string) {
	for _, marked := range []string{key, key + ofOwnedRS} {
		for _, name := range annotationKeys(prefix, v1, marked, nil) {
			fields = append(fields, annotation(name))
		}
	}
	return fields
}
