package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// maxPages is how many pages of a list are searched for the objects of an owner without a selector, such as a CronJob.
const maxPages = 4

// claims is the resource of the volume claims, which StatefulSets own only if they delete them.
const claims = "persistentvolumeclaims.v1"

// Below implements [runner.Objects]. The selector of the object narrows the lists.
func (c *Client) Below(ctx context.Context, of inspect.Ref, hidden [][]string) (rows []runner.Row, more bool, err error) {
	requests, err := c.of(of)
	if err != nil {
		return nil, false, err
	}
	owner, err := requests.Get(ctx, of.Name, metav1.GetOptions{})
	if err != nil {
		return nil, false, explain(err)
	}
	if string(owner.GetUID()) != of.UID {
		return nil, false, fmt.Errorf("%s was deleted and created again", of.Name)
	}
	var errs []error
	for _, res := range runner.ResourcesBelow(of.Resource) {
		found, rest, err := c.belowOf(ctx, owner, res, hidden)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", resourceOf(res.Key).Resource, explain(err)))
		}
		rows, more = append(rows, found...), more || rest
	}
	if len(rows) > runner.MaxBelow {
		rows, more = rows[:runner.MaxBelow], true
	}
	return rows, more, errors.Join(errs...)
}

// belowOf returns the objects of a resource that belong to an owner: Pods and claims by their names, others with the newest first.
func (c *Client) belowOf(ctx context.Context, owner *unstructured.Unstructured, res inspect.Resource, hidden [][]string) (rows []runner.Row, more bool, err error) {
	selector, err := selectorOf(owner, res.Key)
	if err != nil {
		return nil, false, err
	}
	q := runner.RowQuery{Resource: res.Key, Namespace: owner.GetNamespace(), Labels: selector, Hidden: hidden}
	created := map[string]string{}
	after := ""
	for range maxPages {
		list, err := c.list(ctx, q, after)
		if err != nil {
			return rows, more, err
		}
		all, objects := list.rows(q)
		for i, r := range all {
			o := &unstructured.Unstructured{Object: objects[i]}
			if !isOwned(o, owner) && !(res.Key == claims && isClaimOf(o.GetName(), owner)) {
				continue
			}
			r.Kind = res.Kind
			rows = append(rows, r)
			created[r.UID] = o.GetCreationTimestamp().UTC().Format("20060102150405")
		}
		if after = list.Metadata.Continue; after == "" || len(rows) > runner.MaxBelow {
			break
		}
	}
	slices.SortFunc(rows, func(a, b runner.Row) int {
		if res.Key != "pods.v1" && res.Key != claims {
			if newer := strings.Compare(created[b.UID], created[a.UID]); newer != 0 {
				return newer
			}
		}
		return cmp.Or(cmp.Compare(len(a.Name), len(b.Name)), strings.Compare(a.Name, b.Name)) // web-9 before web-10
	})
	return rows, after != "", nil
}

// selectorOf returns the label selector of the objects of an owner; empty if it has none.
func selectorOf(owner *unstructured.Unstructured, resource string) (string, error) {
	field, found, err := unstructured.NestedMap(owner.Object, "spec", "selector")
	if err != nil || !found {
		return "", err
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field, &selector); err != nil {
		return "", fmt.Errorf("read the selector of %s: %w", owner.GetName(), err)
	}
	if resource == claims { // their labels are the equalities of the selector
		return labels.SelectorFromSet(selector.MatchLabels).String(), nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		return "", fmt.Errorf("read the selector of %s: %w", owner.GetName(), err)
	}
	return parsed.String(), nil
}

func isOwned(o, owner *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// isClaimOf reports whether a volume claim has a name that a StatefulSet gives: "TEMPLATE-SET-ORDINAL".
func isClaimOf(name string, set *unstructured.Unstructured) bool {
	templates, _, _ := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	return slices.ContainsFunc(templates, func(t any) bool {
		template, _ := at(t, []string{"metadata", "name"}).(string)
		ordinal, ok := strings.CutPrefix(name, template+"-"+set.GetName()+"-")
		_, err := strconv.ParseUint(ordinal, 10, 31)
		return ok && err == nil
	})
}
