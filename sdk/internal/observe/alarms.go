package observe

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// AlarmChanged reports that an alarm started, changed its numbers, or ended. An alarm is a problem that fails no
// handler.
type AlarmChanged struct {
	Alarm  inspect.Alarm
	Over   bool
	Again  bool         // the alarm was reported before, so nothing is logged
	Logger *slog.Logger // logger of the object, or of the operator
}

// Kind implements [Event].
func (AlarmChanged) Kind() Kind { return KindAlarmChanged }

// maxAlarms limits the number of published alarms.
const maxAlarms = 100

// withAlarm returns a copy of alarms with a changed alarm. It does not modify the given alarms, because readers have them.
func withAlarm(alarms []inspect.Alarm, e AlarmChanged) []inspect.Alarm {
	alarms = slices.Clone(alarms)
	i := slices.IndexFunc(alarms, func(a inspect.Alarm) bool { return sameAlarm(&a, &e.Alarm) })
	switch {
	case e.Over && i >= 0:
		return slices.Delete(alarms, i, i+1)
	case e.Over || i < 0 && len(alarms) >= maxAlarms:
		return alarms
	case i < 0:
		return append(alarms, e.Alarm)
	}
	since := alarms[i].Since
	alarms[i] = e.Alarm
	alarms[i].Since = since
	return alarms
}

// sameAlarm reports whether two alarms have the same kind and subject. Their numbers can differ.
func sameAlarm(a, b *inspect.Alarm) bool {
	return a.Kind == b.Kind && samePlace(a.Object, b.Object) && samePlace(a.Child, b.Child) && a.Verb == b.Verb && a.Resource == b.Resource && a.Namespace == b.Namespace
}

// samePlace reports whether two references are equal. Two nils are equal.
func samePlace[R comparable](a, b *R) bool { return a == b || a != nil && b != nil && *a == *b }

// changeAlarm publishes an alarm.
func (i *Inspector) changeAlarm(e AlarmChanged) {
	i.alarming.Lock()
	defer i.alarming.Unlock()
	i.alarms = withAlarm(i.alarms, e)
	i.publishAlarms()
}

func (i *Inspector) publishAlarms() {
	i.hub.UpdateOperator(func(op *inspect.Operator) { op.Alarms = i.alarms })
}

// dropAlarms ends the alarms about a deleted object.
func (i *Inspector) dropAlarms(ref inspect.Ref) {
	i.alarming.Lock()
	defer i.alarming.Unlock()
	var others []inspect.Alarm
	for _, a := range i.alarms {
		if a.Object == nil || *a.Object != ref {
			others = append(others, a)
		}
	}
	if len(others) < len(i.alarms) {
		i.alarms = others
		i.publishAlarms()
	}
}

// where describes the scope of a missing permission.
func where(a *inspect.Alarm) string {
	if a.Namespace == "" {
		return a.Resource
	}
	return a.Resource + " in " + a.Namespace
}

// alarmChanged logs an alarm at its first report.
func alarmChanged(e AlarmChanged) {
	if e.Over || e.Again {
		return
	}
	a := &e.Alarm
	switch a.Kind {
	case inspect.AlarmHotLoop:
		e.Logger.Warn(fmt.Sprintf("Hot loop: the operator's patch of %s makes an event that makes the same patch, %d times in a row. "+
			"Change the field only if its value is another one", a.Field, a.Count), EventKey, LogAlarmHotloop, "field", a.Field)
	case inspect.AlarmForbidden:
		e.Logger.Error(fmt.Sprintf("Permission refused: the operator may not %s %s. Permit it; kopf manifests writes the rules that the operator needs",
			a.Verb, where(a)), EventKey, LogAlarmForbidden, "error", a.Message)
	case inspect.AlarmMemory:
		e.Logger.Warn(fmt.Sprintf("The memory in use has grown for an hour, from %d to %d MB, while the number of objects has not grown. "+
			"Look for values that handlers keep", a.Was>>20, a.Is>>20), EventKey, LogAlarmMemory)
	case inspect.AlarmGoroutines:
		e.Logger.Warn(fmt.Sprintf("The number of goroutines has grown for an hour, from %d to %d, while the number of objects has not grown. "+
			"Look for goroutines of handlers that never end", a.Was, a.Is), EventKey, LogAlarmGoroutines)
	case inspect.AlarmFight, inspect.AlarmUnstable, inspect.AlarmBrake: // the engine logs them with more details
	}
}
