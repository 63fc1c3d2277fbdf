package gormplugin

import (
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm/schema"
)

// checkTags fails for a tag of a field that is most likely meant to be the plugin's, and is not: GORM passes over settings that it does not know.
func checkTags(s *schema.Schema) error {
	for _, field := range s.Fields {
		if value, ok := field.Tag.Lookup(strings.ToLower(tag)); ok {
			return fmt.Errorf("field %s: %w: it has the tag `snowkey:%q`, which nothing reads; write `gorm:\"%s\"`", field.Name, ErrKey, value, settingOf(value))
		}
		for name, value := range field.TagSettings {
			if name == tag {
				continue
			}
			if name == value { // GORM's for a setting without one
				value = ""
			}
			switch {
			case isMisspelt(name):
				return fmt.Errorf("field %s: %w: its tag has the setting %q, which nobody knows; write `gorm:\"%s\"`", field.Name, ErrKey, written(field, name), settingOf(value))
			case slices.ContainsFunc(strings.FieldsFunc(name, isSeparator), func(part string) bool { return part == tag || isMisspelt(part) }):
				return fmt.Errorf("field %s: %w: its tag has the setting %q, which nobody knows; write `gorm:\"snowkey\"`, with semicolons between settings "+
					"and a colon before a value", field.Name, ErrKey, written(field, name))
			}
		}
	}
	return nil
}

// isSeparator tells what people take for the end of a setting's name, or of a setting.
func isSeparator(r rune) bool { return strings.ContainsRune(", =", r) }

// settingOf is the plugin's setting with a value, or without one.
func settingOf(value string) string {
	if value == "" {
		return strings.ToLower(tag)
	}
	return strings.ToLower(tag) + ":" + value
}

// written returns a setting's name as it is in the field's tag. One that comes from the tag of an embedded struct is there in capitals alone.
func written(field *schema.Field, name string) string {
	for setting := range strings.SplitSeq(field.Tag.Get("gorm"), ";") {
		setting, _, _ = strings.Cut(setting, ":")
		if setting = strings.TrimSpace(setting); strings.EqualFold(setting, name) {
			return setting
		}
	}
	return name
}

// isMisspelt reports whether the name of a setting, in capitals, is that of the plugin's but for two letters. All names have the same first one: those
// of other plugins that are as near, such as ROWKEY, do not.
func isMisspelt(name string) bool {
	return name != tag && strings.HasPrefix(name, tag[:1]) && isNear(name, tag, 2)
}

// isNear reports whether no more than so many letters have to be added, left out, changed, or swapped with the next one, to make one text the other.
func isNear(a, b string, most int) bool {
	switch {
	case most < 0:
		return false
	case a == "" || b == "":
		return len(a)+len(b) <= most
	case a[0] == b[0]:
		return isNear(a[1:], b[1:], most)
	}
	return isNear(a[1:], b, most-1) || isNear(a, b[1:], most-1) || isNear(a[1:], b[1:], most-1) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && isNear(a[2:], b[2:], most-1)
}
