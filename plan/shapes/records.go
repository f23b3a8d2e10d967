package shapes

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// recordNames are the names of the operator's annotations after the prefix, including names that only Kopf for Python writes.
var recordNames = []string{"last-handled-configuration", "kopf-managed", "touch-dummy", "child-kinds", "handler-versions"}

// recordStarts are the starts of such names. Ids of handlers or names of other annotations follow.
var recordStarts = []string{"failed-handler.", "handler-steps.", "started-step.", "rehandle-handler.", "unreadable."}

// ofDeployment is the end of the names on ReplicaSets of Deployments.
const ofDeployment = "-ofDRS"

// recordLabels are the operator's labels, on children and on webhook configurations.
var recordLabels = []string{"kopf.dev/owned-by", "kopf.dev/owner-uid", "kopf.dev/owner-namespace", "kopf.dev/session"}

// isOwn reports whether an annotation is a record of the operator. An operator can choose the name of the last handled state.
func (f ownFields) isOwn(name string, value any) bool {
	prefix, rest, found := strings.Cut(name, "/")
	if name == "kopf.dev/session-expires" || strings.HasPrefix(name, "kopf.dev/webhooks-") {
		return true // records of webhook configurations have this prefix in all operators
	}
	return found && slices.Contains(f.prefixes, prefix) && (isRecord(rest, value) || isState(value))
}

// isRecord reports whether an annotation has the name or the content of a record. The names of progress records come from ids of handlers,
// which only an older build can have, and long ids are shortened. So progress is recognised by its content.
func isRecord(name string, value any) bool {
	name = strings.TrimSuffix(name, ofDeployment)
	text, _ := value.(string)
	return slices.Contains(recordNames, name) || slices.ContainsFunc(recordStarts, func(start string) bool { return strings.HasPrefix(name, start) }) ||
		name == "applied" && appliedPattern.MatchString(text) || isProgress(text)
}

// appliedPattern matches the hash of an applied child.
var appliedPattern = regexp.MustCompile(`^1:[0-9a-f]{16}$`)

// isProgress reports whether a text is the progress of a handler.
func isProgress(text string) bool {
	var progress struct {
		Started          *string
		Retries          *int
		Success, Failure *bool
	}
	return json.Unmarshal([]byte(text), &progress) == nil &&
		progress.Started != nil && progress.Retries != nil && progress.Success != nil && progress.Failure != nil
}

// isState reports whether a value is the last handled state of an object: JSON with a line feed at the end.
func isState(value any) bool {
	text, _ := value.(string)
	return strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}\n") && json.Valid([]byte(text))
}
