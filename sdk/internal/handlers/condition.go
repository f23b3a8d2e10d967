package handlers

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Condition is a [metav1.Condition] without its methods, which would be linked into each operator, with 10 KB.
type Condition metav1.Condition
