package main

import (
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"strings"
)

// secretName is what the keys of secrets end in. Whatever is called so is read from files, kept out of logs and kept from
// tools, so a new one needs nothing but its name.
var secretName = regexp.MustCompile(`(^|_)(token|key|password|secret)$`)

// secretField is a key of the config that holds a secret, and what the key beside it that ends in _file says.
type secretField struct {
	key   string
	value *string
	file  string
}

// secretFields returns all secrets of the config, set or not.
func (c *Config) secretFields() (all []secretField) {
	c.eachString(func(key string, value, file *string) {
		if !secretName.MatchString(key[strings.LastIndexByte(key, '.')+1:]) {
			return
		}
		f := secretField{key: key, value: value}
		if file != nil {
			f.file = *file
		}
		all = append(all, f)
	})
	return all
}

// secrets returns all secrets of a config: its tokens and keys, and the passwords in its addresses.
func (c *Config) secrets() (all []string) {
	for _, f := range c.secretFields() {
		all = append(all, *f.value)
	}
	all = append(all, c.Telemetry.secrets()...) // which come from the environment, too
	for i := range c.MCP {
		all = append(all, c.MCP[i].secrets()...)
	}
	c.eachString(func(_ string, value, _ *string) { all = append(all, passwordsIn(*value)...) })
	return all
}

// passwordsIn returns what an address says between // and @ that gives access, as it is written and as it is meant. A name
// without a password gives access by itself.
func passwordsIn(address string) (all []string) {
	_, rest, ok := strings.Cut(address, "://")
	if !ok {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "/")
	i := strings.LastIndexByte(rest, '@')
	if i < 0 {
		return nil
	}
	name, written, ok := strings.Cut(rest[:i], ":")
	if !ok {
		written = name
	}
	all = append(all, written)
	if meant, err := url.PathUnescape(written); err == nil && meant != written {
		all = append(all, meant)
	}
	return all
}

// eachString calls visit with every string of the config, those in lists too, and with the string beside it whose key ends
// in _file, nil if there is none.
func (c *Config) eachString(visit func(key string, value, file *string)) {
	eachString(reflect.ValueOf(c).Elem(), "", visit)
}

func eachString(v reflect.Value, key string, visit func(key string, value, file *string)) {
	switch v.Kind() {
	case reflect.Struct:
		for f := range v.Type().Fields() {
			name := f.Tag.Get("toml")
			if name == "-" {
				continue
			}
			inner, at := v.FieldByIndex(f.Index), strings.TrimPrefix(key+"."+name, ".")
			if inner.Type() == reflect.TypeFor[string]() {
				visit(at, inner.Addr().Interface().(*string), besideFile(v, name))
				continue
			}
			eachString(inner, at, visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			at := fmt.Sprintf("%s[%d]", key, i)
			if e := v.Index(i); e.Type() == reflect.TypeFor[string]() {
				visit(at, e.Addr().Interface().(*string), nil)
			} else {
				eachString(e, at, visit)
			}
		}
	}
}

// besideFile returns the field of a struct that names the file which a secret stands in.
func besideFile(v reflect.Value, name string) *string {
	for f := range v.Type().Fields() {
		if f.Tag.Get("toml") == name+"_file" {
			return v.FieldByIndex(f.Index).Addr().Interface().(*string)
		}
	}
	return nil
}
