package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fillStrings sets every string of a value that can be reached, with one element in each list, to what say returns for its key. It
// walks by itself, so that it does not miss what the code under test misses.
func fillStrings(v reflect.Value, key string, say func(key string) string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(say(key))
	case reflect.Struct:
		for i := range v.NumField() {
			name := v.Type().Field(i).Tag.Get("toml")
			if name != "-" {
				fillStrings(v.Field(i), strings.TrimPrefix(key+"."+name, "."), say)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillStrings(v.Index(0), key+"[0]", say)
	case reflect.Map:
		panic(key + ": this test cannot fill maps yet")
	}
}

// TestNoSecretIsForgotten: whatever in the config is called a secret, or may be an address with a password in it, is known to
// the redaction; and every secret can be read from a file.
func TestNoSecretIsForgotten(t *testing.T) {
	var cfg Config
	secret := regexp.MustCompile(`token|key|secret|password|credential|passphrase`)
	address := regexp.MustCompile(`url|endpoint|prometheus|listen|host|address|server`)
	var wanted, files []string
	fillStrings(reflect.ValueOf(&cfg).Elem(), "", func(key string) string {
		name := key[strings.LastIndexByte(key, '.')+1:]
		switch {
		case strings.HasSuffix(name, "_file"):
			files = append(files, strings.TrimSuffix(key, "_file"))
			return "/dev/null"
		case secret.MatchString(name) && !strings.HasPrefix(name, "secret_files"):
			wanted = append(wanted, key)
			return "secret of " + key
		case address.MatchString(name):
			wanted = append(wanted, key)
			return "https://somebody:secret%20of%20" + key + "@host/path"
		}
		return "-"
	})
	known := cfg.secrets()
	for _, key := range wanted {
		if !slices.Contains(known, "secret of "+key) {
			t.Errorf("the redaction does not know the secret in %s", key)
		}
		name := key[strings.LastIndexByte(key, '.')+1:]
		if secret.MatchString(name) && !slices.Contains(files, key) {
			t.Errorf("there is no %s_file", key)
		}
	}
	if len(wanted) < 15 {
		t.Errorf("only %d secrets were looked at: %q", len(wanted), wanted)
	}
	r := newRedactor(known...)
	for _, key := range wanted {
		if s := fmt.Sprintf("it is secret of %s, or secret%%20of%%20%s", key, key); strings.Contains(r.text(s), "secret of") {
			t.Errorf("%q is redacted to %q", s, r.text(s))
		}
	}
}

func TestPasswordsInAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:9090":              "",
		"http://me:pa%40ss@host:9090/x":      "pa%40ss pa@ss",
		"http://only-a-token@host":           "only-a-token",
		"https://host/path@2x":               "",
		"http://me:with@sign-in-it@host/a@b": "with@sign-in-it",
		"no address":                         "",
	} {
		if got := strings.Join(passwordsIn(address), " "); got != want {
			t.Errorf("%s: %q, want %q", address, got, want)
		}
	}
	_, _, err := loadConfig(writeConfig(t, "[ops]\nprometheus = \"http://me:hunter2hunter2@:9090\"\n[log]\nlevel = \"loud\"\n"), env())
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error is %v", err)
	}
}
