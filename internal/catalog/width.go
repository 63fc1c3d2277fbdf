package catalog

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// KeyDigits are those of the greatest key, 2^63-1.
const KeyDigits = 19

// Misfit says why a column cannot hold numbers of some bits, and nothing when it can.
func Misfit(col *Column, bits int) string {
	digits := KeyDigits
	if bits < 64 {
		digits = len(strconv.FormatInt(1<<bits, 10))
	}
	switch col.Class {
	case Integer:
		if col.Bits < bits {
			limit := uint64(1)<<(col.Bits-1) - 1
			if strings.Contains(col.Type, "unsigned") {
				limit = uint64(1)<<col.Bits - 1
			}
			return fmt.Sprintf("it has %d bits and holds at most %d, where a key has up to %d bits; one above that fails to be inserted (out of range)", col.Bits, limit, bits)
		}
	case Decimal, Text:
		if col.Digits != 0 && col.Digits < digits {
			return fmt.Sprintf("it holds %d digits, and a key has up to %d; longer ones fail to be inserted, or are cut", col.Digits, digits)
		}
	case Floating:
		return "it rounds keys above 2^53, so that different ones become the same"
	default:
		return "it is no type for a number"
	}
	return ""
}

var (
	mysqlInteger = regexp.MustCompile(`(?i)^(?:tinyint|smallint|mediumint|int|integer)\b(?:\s*\(\d+\))?`)
	mysqlCounter = regexp.MustCompile(`(?i)\s+AUTO_INCREMENT\b`)
)

// Wide returns the Define of an integer on MySQL with 64 bits, and the same sign.
func Wide(col *Column) string { return mysqlInteger.ReplaceAllString(col.Define, "bigint") }

// Uncounted returns a Define without AUTO_INCREMENT, which a comment in it may have, too.
func Uncounted(define string) string {
	before, comment := define, ""
	if at := strings.Index(strings.ToUpper(define), " COMMENT "); at >= 0 {
		before, comment = define[:at], define[at:]
	}
	return mysqlCounter.ReplaceAllString(before, "") + comment
}

// Orphans returns the end of a query, from FROM on, for the rows c of a child whose foreign key refers to no row. The names are as statements have them.
func (c *Catalog) Orphans(r *Reference, child, parent Name) string {
	var equal, given []string
	for i, name := range r.Columns {
		column := "c." + c.Quote(name)
		equal, given = append(equal, "p."+c.Quote(r.To[i])+" = "+column), append(given, column+" IS NOT NULL")
	}
	return fmt.Sprintf("FROM %s c WHERE %s AND NOT EXISTS (SELECT 1 FROM %s p WHERE %s)",
		c.Quoted(child), strings.Join(given, " AND "), c.Quoted(parent), strings.Join(equal, " AND "))
}
