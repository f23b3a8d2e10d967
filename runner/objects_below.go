package runner

import "github.com/kopf-dev/kopf/sdk/inspect"

// below has the resources of the objects that the controllers of Kubernetes make, by the resource of the owner.
var below = map[string][]inspect.Resource{
	"cronjobs.v1.batch":    {{Key: "jobs.v1.batch", Kind: "Job"}},
	"daemonsets.v1.apps":   {pods},
	"deployments.v1.apps":  {{Key: "replicasets.v1.apps", Kind: "ReplicaSet"}},
	"jobs.v1.batch":        {pods},
	"replicasets.v1.apps":  {pods},
	"statefulsets.v1.apps": {pods, {Key: "persistentvolumeclaims.v1", Kind: "PersistentVolumeClaim"}},
}

var pods = inspect.Resource{Key: "pods.v1", Kind: "Pod"}

// ResourcesBelow returns the keys and the kinds of the resources whose objects the controllers of Kubernetes make for an object of
// a resource: of "deployments.v1.apps", the ReplicaSets. It returns none for resources that have no such objects.
func ResourcesBelow(resource string) []inspect.Resource { return below[resource] }

// MaxBelow is the maximum number of objects that [Objects].Below returns.
const MaxBelow = 100
