package children

import (
	"math"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// rule returns the health of an object of a kind. If seen, the status has the observedGeneration of the newest version.
type rule func(r *reader, h Health, seen bool) Health

// ruleOf returns the rule of the object's kind; nil if the kind has none. It is a function rather than a map, because the linker keeps
// a package's maps in each program.
func ruleOf(o *object.Object) rule {
	switch groupOf(o.APIVersion) + "/" + o.Kind {
	case "/Namespace":
		return phase("Active")
	case "/PersistentVolumeClaim":
		return claim
	case "/Pod":
		return pod
	case "/Service":
		return service
	case "apps/DaemonSet":
		return daemonSet
	case "apps/Deployment":
		return deployment
	case "apps/ReplicaSet":
		return replicaSet
	case "apps/StatefulSet":
		return statefulSet
	case "batch/CronJob":
		return always
	case "batch/Job":
		return job
	case "policy/PodDisruptionBudget":
		return observed
	case "apiextensions.k8s.io/CustomResourceDefinition":
		return definition
	case "apiregistration.k8s.io/APIService":
		return aggregated
	}
	return nil
}

func always(_ *reader, h Health, _ bool) Health { return h.is(Ready, "it exists") }

func phase(ready string) rule {
	return func(r *reader, h Health, _ bool) Health {
		switch phase := r.phase("phase"); phase {
		case ready:
			return h.is(Ready, "it is %s", phase)
		case "":
			return h.is(Progressing, "its controller has not seen it")
		default:
			return h.is(Progressing, "it is %s", phase)
		}
	}
}

func claim(r *reader, h Health, seen bool) Health {
	h = phase("Bound")(r, h, seen)
	if r.phase("phase") == "Lost" {
		return h.is(Failed, "its volume is lost")
	}
	return h
}

func observed(_ *reader, h Health, seen bool) Health {
	if !seen {
		return h.is(Progressing, "its controller has not seen it")
	}
	return h.is(Ready, "its controller has seen the latest change")
}

func pod(r *reader, h Health, _ bool) Health {
	switch phase := r.phase("phase"); phase {
	case "Succeeded":
		return h.is(Ready, "it has completed")
	case "Failed":
		return h.is(Failed, "it has failed: %s", r.condition("Ready").reason())
	case "Running":
		if r.condition("Ready").status == "True" {
			return h.is(Ready, "it is ready")
		}
		if crashing := r.crashing(); crashing != "" {
			return h.is(Failed, "container %s crashes repeatedly", crashing)
		}
		return h.is(Progressing, "it is running, but not ready")
	case "":
		return h.is(Progressing, "its controller has not seen it")
	default:
		if c := r.condition("PodScheduled"); c.status == "False" {
			return h.is(Progressing, "%s", c.reasonFor("it is not scheduled"))
		}
		return h.is(Progressing, "it is %s", phase)
	}
}

// crashing returns the name of a pod's first container that is in CrashLoopBackOff; empty if there is none.
func (r *reader) crashing() string {
	for item := range object.Items(field(r.status, "containerStatuses")) {
		if plain(field(item, "state", "waiting", "reason")) == "CrashLoopBackOff" {
			return plain(field(item, "name"))
		}
	}
	return ""
}

func service(r *reader, h Health, _ bool) Health {
	if plain(field(r.spec, "type")) == "LoadBalancer" && plain(field(r.spec, "clusterIP")) == "" {
		return h.is(Progressing, "it has no cluster IP")
	}
	return h.is(Ready, "it exists")
}

// lacks returns Progressing for the first of the named status numbers that is less than the wanted number; false if there is none.
func (r *reader) lacks(h Health, wanted int64, names ...string) (Health, bool) {
	for _, name := range names {
		if n := r.count(name); n < wanted {
			return h.is(Progressing, "%d of %d replicas are %s", n, wanted, words[name]), true
		}
	}
	return h, false
}

// words has an adjective for the replicas that a status number counts.
var words = map[string]string{
	"availableReplicas": "available", "currentReplicas": "current", "fullyLabeledReplicas": "labelled", "readyReplicas": "ready",
	"replicas": "created", "updatedReplicas": "updated",
	"currentNumberScheduled": "scheduled", "updatedNumberScheduled": "updated", "numberAvailable": "available", "numberReady": "ready",
}

// surplus returns Progressing if there are more replicas than wanted; otherwise false.
func (r *reader) surplus(h Health, wanted int64) (Health, bool) {
	if n := r.count("replicas"); n > wanted {
		return h.is(Progressing, "replicas to remove: %d", n-wanted), true
	}
	return h, false
}

func deployment(r *reader, h Health, seen bool) Health {
	progress := r.condition("Progressing")
	if progress.reason() == "ProgressDeadlineExceeded" {
		return h.is(Failed, "%s", progress.reasonFor("it makes no progress"))
	}
	if !seen {
		return observed(r, h, seen)
	}
	wanted := r.wants(1, "replicas")
	if h, lacks := r.lacks(h, wanted, "replicas", "updatedReplicas"); lacks {
		return h
	}
	if h, more := r.surplus(h, wanted); more {
		return h
	}
	if h, lacks := r.lacks(h, wanted, "readyReplicas"); lacks {
		return h
	}
	if h, lacks := r.lacks(h, r.count("updatedReplicas"), "availableReplicas"); lacks {
		return h
	}
	complete := progress.status == "True" && progress.reason() == "NewReplicaSetAvailable"
	switch {
	case !complete && r.wants(math.MaxInt32, "progressDeadlineSeconds") != math.MaxInt32: // without a deadline, there is no condition Progressing
		return h.is(Progressing, "%s", progress.reasonFor("its new replicas are not complete"))
	case r.condition("Available").status != "True":
		return h.is(Progressing, "it is not available")
	}
	return h.is(Ready, "%d of %d replicas are ready", wanted, wanted)
}

func replicaSet(r *reader, h Health, seen bool) Health {
	if !seen {
		return observed(r, h, seen)
	}
	if c := r.condition("ReplicaFailure"); c.status == "True" {
		return h.is(Progressing, "%s", c.reasonFor("its pods cannot be created"))
	}
	wanted := r.wants(1, "replicas")
	if h, lacks := r.lacks(h, wanted, "fullyLabeledReplicas", "readyReplicas", "availableReplicas"); lacks {
		return h
	}
	if h, more := r.surplus(h, wanted); more {
		return h
	}
	return h.is(Ready, "%d of %d replicas are ready", wanted, wanted)
}

func statefulSet(r *reader, h Health, seen bool) Health {
	if plain(field(r.spec, "updateStrategy", "type")) == "OnDelete" {
		return h.is(Ready, "its pods are updated when they are deleted")
	}
	if !seen {
		return observed(r, h, seen)
	}
	wanted := r.wants(1, "replicas")
	if h, lacks := r.lacks(h, wanted, "replicas", "readyReplicas"); lacks {
		return h
	}
	if h, more := r.surplus(h, wanted); more {
		return h
	}
	if partition := r.wants(0, "updateStrategy", "rollingUpdate", "partition"); partition > 0 {
		if h, lacks := r.lacks(h, wanted-partition, "updatedReplicas"); lacks {
			return h
		}
		return h.is(Ready, "%d of %d replicas are ready", wanted, wanted)
	}
	if h, lacks := r.lacks(h, wanted, "currentReplicas"); lacks {
		return h
	}
	if r.phase("currentRevision") != r.phase("updateRevision") {
		return h.is(Progressing, "its replicas are being updated")
	}
	return h.is(Ready, "%d of %d replicas are ready", wanted, wanted)
}

func daemonSet(r *reader, h Health, seen bool) Health {
	wanted, known := r.number("desiredNumberScheduled")
	if !seen || !known {
		return observed(r, h, false)
	}
	if h, lacks := r.lacks(h, wanted, "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady"); lacks {
		return h
	}
	return h.is(Ready, "%d of %d replicas are ready", wanted, wanted)
}

func job(r *reader, h Health, _ bool) Health {
	succeeded, wanted := r.count("succeeded"), r.wants(r.wants(1, "parallelism"), "completions")
	if r.condition("Complete").status == "True" {
		return h.is(Ready, "it has completed")
	}
	if c := r.condition("Failed"); c.status == "True" {
		return h.is(Failed, "%s", c.reasonFor("it has failed"))
	}
	if r.condition("Suspended").status == "True" {
		return h.is(Progressing, "it is suspended")
	}
	return h.is(Progressing, "%d of %d pods have succeeded", succeeded, wanted)
}

func definition(r *reader, h Health, _ bool) Health {
	if c := r.condition("NamesAccepted"); c.status == "False" {
		return h.is(Failed, "%s", c.reasonFor("its names are not accepted"))
	}
	c := r.condition("Established")
	switch {
	case c.status == "True":
		return h.is(Ready, "it is established")
	case c.status == "False" && c.reason() != "Installing":
		return h.is(Failed, "%s", c.reasonFor("it cannot be established"))
	}
	return h.is(Progressing, "it is not established")
}

func aggregated(r *reader, h Health, _ bool) Health {
	c := r.condition("Available")
	if c.status == "True" {
		return h.is(Ready, "it is available")
	}
	return h.is(Progressing, "%s", c.reasonFor("it is not available"))
}
