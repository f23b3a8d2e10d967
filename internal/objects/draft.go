package objects

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// maxConflicts is how often a change is sent again because the object has changed in other fields.
const maxConflicts = 10

// ofServer are the fields of the metadata that the API server keeps: they cannot be edited.
var ofServer = []string{"managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds"}

// Draft implements [runner.Objects].
func (c *Client) Draft(ctx context.Context, ref inspect.Ref, hidden [][]string) (*runner.Draft, error) {
	requests, err := c.of(ref)
	if err != nil {
		return nil, err
	}
	o, err := requests.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, explain(err)
	}
	if string(o.GetUID()) != ref.UID {
		return nil, fmt.Errorf("404 not found: %s was deleted; this is another one of its name", ref.Name)
	}
	return draftOf(o, ref, hidden)
}

// draftOf returns the draft of a version of an object.
func draftOf(o *unstructured.Unstructured, ref inspect.Ref, hidden [][]string) (*runner.Draft, error) {
	base := editable(hide(o.Object, hidden))
	s, err := text(base)
	return &runner.Draft{Object: ref, Version: o.GetResourceVersion(), Text: s, Base: base, Hidden: hidden}, err
}

// editable returns an object without the fields that the API server manages. The status is not edited: operators
// write it, through its own subresource.
func editable(o map[string]any) map[string]any {
	o = merged(o, map[string]any{"status": nil})
	metadata, _ := o["metadata"].(map[string]any)
	drop := map[string]any{}
	for _, field := range ofServer {
		drop[field] = nil
	}
	o["metadata"] = merged(metadata, drop)
	return o
}

// Save implements [runner.Objects].
func (c *Client) Save(ctx context.Context, draft *runner.Draft, edited string) ([]string, error) {
	tree, err := parse(edited)
	if err != nil {
		return nil, &runner.RefusedTextError{Reason: err.Error()}
	}
	if err := check(draft, tree); err != nil {
		return nil, &runner.RefusedTextError{Reason: err.Error()}
	}
	if draft.New {
		return c.create(ctx, draft, tree)
	}
	patch := between(draft.Base, tree)
	if patch == nil {
		return nil, nil
	}
	if at := markIn(patch, nil); at != nil {
		return nil, &runner.RefusedTextError{Reason: fmt.Sprintf("%s has a hidden value beside one that you have changed; it cannot be edited here", name(at))}
	}
	if err := c.patch(ctx, draft, patch); err != nil {
		return nil, err
	}
	var changed []string
	for _, path := range leaves(patch) {
		changed = append(changed, name(path))
	}
	return changed, nil
}

// check refuses texts that are no version of the object.
func check(draft *runner.Draft, tree map[string]any) error {
	fixed := [][]string{{"apiVersion"}, {"kind"}, {"metadata", "namespace"}, {"metadata", "name"}}
	if draft.New {
		fixed = fixed[:2]
	}
	for _, path := range fixed {
		if was, is := at(draft.Base, path), at(tree, path); !equal(was, is) {
			return fmt.Errorf("%s must remain %v, not %v: an edit cannot make another object of it", name(path), was, is)
		}
	}
	if _, ok := tree["status"]; ok {
		return fmt.Errorf("status cannot be edited: it is the operator's report")
	}
	metadata, _ := tree["metadata"].(map[string]any)
	for _, field := range ofServer {
		if _, ok := metadata[field]; ok {
			return fmt.Errorf("metadata.%s cannot be edited: the API server keeps it", field)
		}
	}
	return nil
}

// markIn returns the path of a hidden value; nil if there is none.
func markIn(value any, path []string) []string {
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if found := markIn(child, append(path[:len(path):len(path)], key)); found != nil {
				return found
			}
		}
	case []any:
		for _, item := range v {
			if found := markIn(item, path); found != nil {
				return found
			}
		}
	case string:
		if strings.Contains(v, mark) {
			return path
		}
	}
	return nil
}

// patch sends a change for the version that the edit began with. If the object has changed since then, but not in the
// same fields, it is sent for the newest version.
func (c *Client) patch(ctx context.Context, draft *runner.Draft, change map[string]any) error {
	requests, err := c.of(draft.Object)
	if err != nil {
		return err
	}
	version := draft.Version
	for attempt := 1; ; attempt++ {
		guard := map[string]any{"metadata": map[string]any{"resourceVersion": version, "uid": draft.Object.UID}}
		body, err := json.Marshal(merged(change, map[string]any{"metadata": merged(asMap(change["metadata"]), asMap(guard["metadata"]))}))
		if err != nil {
			return &runner.RefusedTextError{Reason: err.Error()}
		}
		_, err = requests.Patch(ctx, draft.Object.Name, types.MergePatchType, body, metav1.PatchOptions{
			FieldManager: fieldManager, FieldValidation: metav1.FieldValidationStrict,
		})
		switch {
		case err == nil:
			return nil
		case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
			return &runner.RefusedTextError{Reason: c.reason(ctx, draft, change, err)}
		case !apierrors.IsConflict(err) || attempt == maxConflicts:
			return errors.New(c.reason(ctx, draft, change, err)) // the original may show hidden values
		}
		newest, err := c.Draft(ctx, draft.Object, draft.Hidden)
		if err != nil {
			return err
		}
		if err := conflict(draft, newest, change); err != nil {
			return err
		}
		version = newest.Version
	}
}

// reason returns why a change was refused. The API server quotes values: those that are hidden are replaced.
func (c *Client) reason(ctx context.Context, draft *runner.Draft, change map[string]any, refused error) string {
	if len(printable.FieldsToHide(draft.Base, draft.Hidden)) == 0 {
		return explain(refused).Error()
	}
	requests, err := c.of(draft.Object)
	if err != nil {
		return err.Error()
	}
	now, err := requests.Get(ctx, draft.Object.Name, metav1.GetOptions{})
	if err != nil {
		return "the API server has not accepted it; its reason is not shown, as it may have hidden values"
	}
	text := withoutSecrets(explain(refused), now.Object, draft.Hidden)
	return withoutSecrets(text, merged(now.Object, change), draft.Hidden).Error()
}

func asMap(value any) map[string]any {
	m, _ := value.(map[string]any)
	return m
}

// conflict compares concurrent changes since the edit began with the change. It returns a [*runner.ConflictError] if
// both set the same fields to different values.
func conflict(draft, newest *runner.Draft, change map[string]any) error {
	var fields []runner.FieldConflict
	for _, path := range leaves(change) {
		was, is, wanted := at(draft.Base, path), at(newest.Base, path), at(change, path)
		if !equal(was, is) && !equal(is, wanted) {
			fields = append(fields, runner.FieldConflict{Path: name(path), Yours: show(wanted), Theirs: show(is)})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	again := *newest
	s, err := text(merged(newest.Base, change))
	if err != nil {
		return err
	}
	again.Text = s
	return &runner.ConflictError{Fields: fields, Draft: &again}
}

// show formats a value in a line.
func show(value any) string {
	if value == nil {
		return "removed"
	}
	s, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(s)
}
