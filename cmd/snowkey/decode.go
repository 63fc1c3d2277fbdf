package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snowkey-go/snowkey/idgen"
	"github.com/snowkey-go/snowkey/publicid"
)

func newDecode() *cobra.Command {
	c := &cobra.Command{
		Use:   "decode ID...",
		Short: "Show the time, node and sequence of keys",
		Long: `Show what the keys carry: the time they were made at, the numbers of their node, the sequence.
UUIDs, ULIDs and ObjectIDs are recognized by their texts, unless --layout or --format says that the keys are snowflakes. So are
TypeIDs, such as user_01h455vb4pex5vsknk084sn02q, and public ids, such as ord_JYZTXD6H1EXM9, unless --format does.
With 26 digits these stand for 16 bytes: "holds" is the version of the UUID, such as uuidv7, or no-uuid for
others, such as a ULID, and what wrong keys make of a public id.

The ID "-" reads keys from standard input, one a line.`,
		Example: `  snowkey decode --layout twitter 1541815603606036480
  snowkey decode --layout twitter --json 1541815603606036480
  snowkey decode 017f22e2-79b0-7cc3-98c4-dc0c0c07398f 01ARZ3NDEKTSV4RRFFQ69G5FAV
  snowkey next -n 3 --format base32 | snowkey decode --format base32 -
  snowkey decode --format {date} 20260401226628780032000
  snowkey decode --public-id-keys /run/secrets/public-id-keys ord_JYZTXD6H1EXM9`,
		Args: cobra.MinimumNArgs(1),
	}
	layout := layoutFlag(c)
	format := formatFlag(c, "how the keys are written")
	keys := publicKeysFlag(c)
	asJSON := c.Flags().Bool("json", false, "print a JSON object a line")
	c.RunE = func(c *cobra.Command, args []string) error {
		form, err := format.of(layout.Layout)
		if err != nil {
			return err
		}
		d := decoder{layout: layout.Layout, form: form, json: *asJSON, codec: keys.codec,
			prefixed: !c.Flags().Changed("format"), recognize: !c.Flags().Changed("layout") && !c.Flags().Changed("format")}
		// All arguments are read before the first is printed, so that a wrong one leaves nothing half done.
		lines := make([]string, len(args))
		for i, arg := range args {
			if arg == "-" {
				continue
			}
			if lines[i], err = d.line(arg); err != nil {
				return usageError{err}
			}
		}
		out := bufio.NewWriter(c.OutOrStdout())
		for i, arg := range args {
			if arg == "-" {
				err = d.copy(out, c.InOrStdin())
			} else {
				_, err = out.WriteString(lines[i])
			}
			if err != nil {
				_ = out.Flush() // what was read before is good
				return err
			}
		}
		return out.Flush()
	}
	return c
}

type decoder struct {
	layout idgen.Layout
	form   interface {
		Parse(text string) (int64, error)
	}
	json  bool
	codec func(...publicid.Option) (*publicid.Codec, error) // of public ids
	// recognize is for keys that may be no snowflakes, prefixed for those with a prefix.
	recognize, prefixed bool
}

// copy decodes the lines of a text, but for empty ones.
func (d decoder) copy(out io.Writer, in io.Reader) error {
	lines := bufio.NewScanner(in)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		line, err := d.line(text)
		if err != nil {
			return usageError{fmt.Errorf("standard input, line %d: %w", n, err)}
		}
		if _, err := io.WriteString(out, line); err != nil {
			return err
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return usageError{fmt.Errorf("standard input, line %d: longer than %d bytes", n, bufio.MaxScanTokenSize)}
	} else if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	return nil
}

// line returns the line that shows a key.
func (d decoder) line(text string) (string, error) {
	if key, ok := recognize(text); ok && d.recognize {
		return d.wideLine(key)
	}
	if p, ok := cutPrefix(text); ok && d.prefixed {
		return d.prefixedLine(p)
	}
	id, err := d.form.Parse(text)
	if err != nil {
		return "", err
	}
	begin := "%d  %s "
	if d.json {
		begin = `{"id":"%d","time":"%s"`
	}
	return d.partsLine(id, func(made string) string { return fmt.Sprintf(begin, id, made) })
}

// wideLine returns the line of a key that is no snowflake.
func (d decoder) wideLine(key wideKey) (string, error) {
	if !d.json {
		return key.line(), nil
	}
	line, err := json.Marshal(key)
	return string(line) + "\n", err
}

// partsLine returns the line of a snowflake, whose begin is made of its time.
func (d decoder) partsLine(id int64, begin func(made string) string) (string, error) {
	parts, err := d.layout.Decode(id)
	if err != nil {
		return "", err
	}
	field, end := " %s=%d", "\n"
	if d.json {
		field, end = `,"%s":%d`, "}\n"
	}
	line := begin(formatTime(parts.Time, d.layout.Unit()))
	values := map[idgen.Kind]int64{idgen.Datacenter: parts.Datacenter, idgen.Node: parts.Node, idgen.Sequence: parts.Sequence,
		idgen.Shard: parts.Shard, idgen.Stream: parts.Stream}
	for _, f := range d.layout.Fields() {
		if value, show := values[f.Kind]; show {
			line += fmt.Sprintf(field, f.Kind, value)
		}
	}
	return line + end, nil
}

// formatTime writes a time with as many digits as the unit has, at least milliseconds.
func formatTime(t time.Time, unit time.Duration) string {
	digits := 3
	for step := time.Millisecond; digits < 9 && (unit%step != 0 || t.Nanosecond()%int(step) != 0); step /= 1000 {
		digits += 3
	}
	return t.Format("2006-01-02T15:04:05." + strings.Repeat("0", digits) + "Z07:00")
}
