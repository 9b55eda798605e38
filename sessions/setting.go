package sessions

import (
	"slices"
	"time"
)

// SettingChanged records that a person set something for this conversation. An empty value gives way to the config again.
// The names belong to whoever reads them; settings outlive resets.
type SettingChanged struct {
	Name  string    `json:"name"`
	Value string    `json:"value,omitempty"`
	Was   string    `json:"was,omitempty"` // the value before
	By    string    `json:"by"`            // stable id of the person
	At    time.Time `json:"at"`
}

func (SettingChanged) kind() string { return "setting_changed" }

// settingChanged remembers a setting. The list is never changed in place, because copies of the session share it.
func (s *Session) settingChanged(e SettingChanged) {
	s.Settings = slices.DeleteFunc(slices.Clone(s.Settings), func(old SettingChanged) bool { return old.Name == e.Name })
	if e.Value != "" || e.Was != "" {
		s.Settings = append(s.Settings, e)
	}
}

// Setting returns what people have set under a name, empty if they have not.
func (s *Session) Setting(name string) string { return s.SettingAt(name, time.Time{}) }

// SettingAt returns what was set under a name at a time, as far back as the change before the last one; now, if the time is
// zero.
func (s *Session) SettingAt(name string, at time.Time) string {
	for _, e := range s.Settings {
		switch {
		case e.Name != name:
		case !at.IsZero() && at.Before(e.At):
			return e.Was
		default:
			return e.Value
		}
	}
	return ""
}
