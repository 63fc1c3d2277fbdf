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
	return name != tag && strings.HasPrefix(name, tag[:1]) && distance(name, tag) <= 2
}

// distance returns how many letters have to be added, left out, changed, or swapped with the next one, to make one text the other.
func distance(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			changed := last[j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			row[j] = min(last[j]+1, row[j-1]+1, changed)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}
