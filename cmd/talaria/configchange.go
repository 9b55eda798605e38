package main

import (
	"reflect"
	"strings"
)

// always returns a function that returns the same config.
func always(cfg *Config) func() *Config { return func() *Config { return cfg } }

// settled returns a config with what can change while the program runs taken from fresh, and all else from the config that
// it was started with: what is connected to, stored or built once.
func (c *Config) settled(fresh *Config) Config {
	next := *fresh
	next.DataDir, next.EnvFile, next.File = c.DataDir, c.EnvFile, c.File
	next.Platforms, next.HTTP, next.Shadow, next.Recording, next.Telemetry = c.Platforms, c.HTTP, c.Shadow, c.Recording, c.Telemetry
	next.Web, next.Ops, next.Hooks, next.Memory, next.Delegation = c.Web, c.Ops, c.Hooks, c.Memory, c.Delegation
	next.MCP = c.MCP
	next.Tools = c.Tools
	next.Tools.Approval = fresh.Tools.Approval
	next.Gateway.CatchUp, next.Gateway.CrashPause = c.Gateway.CatchUp, c.Gateway.CrashPause
	next.Gateway.ShutdownGrace = c.Gateway.ShutdownGrace
	next.Log.Format = c.Log.Format
	return next
}

// changedKeys returns the keys under which two configs differ, in the order of the config; a list counts as one.
func changedKeys(a, b *Config) []string {
	return changed(reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem(), "")
}

func changed(a, b reflect.Value, prefix string) (keys []string) {
	for f := range a.Type().Fields() {
		name := f.Tag.Get("toml")
		if name == "-" {
			continue
		}
		x, y, key := a.FieldByIndex(f.Index), b.FieldByIndex(f.Index), strings.TrimPrefix(prefix+"."+name, ".")
		switch {
		case f.Type.Kind() == reflect.Struct:
			keys = append(keys, changed(x, y, key)...)
		case f.Type.Kind() == reflect.Slice && x.Len()+y.Len() == 0:
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			keys = append(keys, key)
		}
	}
	return keys
}
