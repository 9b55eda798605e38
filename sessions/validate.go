package sessions

import (
	"fmt"
	"unicode/utf8"
)

// MaxName is the greatest length of an id, a key or a lane, in bytes. Engines use them as keys of their indexes.
const MaxName = 1024

// Validate tells whether a commit is well formed, whatever the state of the store. Engines call it before anything
// else, so that a commit that makes no sense fails alone and the same way everywhere.
func Validate(c Commit) error {
	switch c := c.(type) {
	case Accept:
		if err := checkName("item id", string(c.Item.ID)); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		if err := c.Item.Key.Validate(); err != nil {
			return fmt.Errorf("accept %s: %w", c.Item.ID, err)
		}
		return nil
	case Append:
		if err := validateAppend(c); err != nil {
			return fmt.Errorf("append to %s: %w", c.Lease.Key, err)
		}
		return nil
	case Mark:
		if err := checkName("row id", string(c.Row)); err != nil {
			return fmt.Errorf("mark: %w", err)
		}
		return nil
	case Set:
		if err := checkName("name", c.Name); err != nil {
			return fmt.Errorf("set: %w", err)
		}
		return nil
	case Erase:
		if err := c.Lease.Key.Validate(); err != nil {
			return fmt.Errorf("erase: %w", err)
		}
		return nil
	}
	return fmt.Errorf("commit of type %T is not known", c)
}

// Validate tells whether the key has the permanent format.
func (k Key) Validate() error {
	if err := checkName("key", string(k)); err != nil {
		return err
	}
	for _, c := range []byte(k) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case c == '-', c == '.', c == '_', c == '/', c == ':':
		default:
			return fmt.Errorf("key %q has the character %q", string(k), c)
		}
	}
	return nil
}

func validateAppend(c Append) error {
	if err := c.Lease.Key.Validate(); err != nil {
		return err
	}
	for _, id := range c.Record.Consumed {
		if err := checkName("consumed item id", string(id)); err != nil {
			return err
		}
	}
	rows := make(map[RowID]bool)
	for _, r := range c.Record.Outbox {
		if err := checkName("row id", string(r.ID)); err != nil {
			return err
		}
		if err := r.Key.Validate(); err != nil {
			return fmt.Errorf("row %s: %w", r.ID, err)
		}
		if err := checkName("lane", r.Lane); err != nil {
			return fmt.Errorf("row %s: %w", r.ID, err)
		}
		if len(r.Parts) == 0 {
			return fmt.Errorf("row %s has no parts", r.ID)
		}
		if rows[r.ID] {
			return fmt.Errorf("row %s is there twice", r.ID)
		}
		rows[r.ID] = true
	}
	return nil
}

func checkName(what, name string) error {
	switch {
	case name == "":
		return fmt.Errorf("empty %s", what)
	case len(name) > MaxName:
		return fmt.Errorf("%s of %d bytes, at most %d are allowed", what, len(name), MaxName)
	case !utf8.ValidString(name):
		return fmt.Errorf("%s %q is not UTF-8", what, name)
	}
	return nil
}
