package explain

import (
	"testing"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestAlarms_AboutChildren(t *testing.T) {
	shop := inspect.Ref{Resource: "shops.v1.example.com", Namespace: "one", Name: "shop", UID: "1"}
	child := &inspect.KindRef{Kind: "Deployment", Ref: inspect.Ref{Resource: "deployments.v1.apps", Namespace: "one", Name: "web"}}
	fight := inspect.Alarm{Kind: inspect.AlarmFight, Field: "spec.replicas", Object: &shop, Child: child}
	taken := fight
	taken.Manager = "kubectl-edit"
	unstable := inspect.Alarm{Kind: inspect.AlarmUnstable, Field: "spec.template", Object: &shop, Child: child}
	brake := inspect.Alarm{Kind: inspect.AlarmBrake, Resource: "configmaps.v1", Count: 4, Object: &inspect.Ref{Resource: shop.Resource}}
	for _, test := range []struct {
		alarms []inspect.Alarm
		want   Alarm
	}{
		{[]inspect.Alarm{fight}, Alarm{Warn, "! fight: spec.replicas of Deployment web of one/shop", "another client changes it again and again · remove the field from one of the two"}},
		{[]inspect.Alarm{unstable, taken}, Alarm{Warn, "! fight: spec.replicas of Deployment web of one/shop", "kubectl-edit changes it again and again · remove the field from one of the two · and 1 more"}},
		{[]inspect.Alarm{unstable}, Alarm{Warn, "! unstable: spec.template of Deployment web of one/shop", "each pass wants another value · remove times and random values"}},
		{[]inspect.Alarm{unstable, brake}, Alarm{Err, "✗ pruning of configmaps stopped", "4 unchanged objects would lose more · roll back, or B releases the brake · and 1 more"}},
	} {
		s := NewState(&runner.State{Live: true, Snapshot: &inspect.Snapshot{Operator: inspect.Operator{Alarms: test.alarms}}}, nil)
		if got := s.published(); got != test.want {
			t.Errorf("%+v, want %+v", got, test.want)
		}
	}
}
