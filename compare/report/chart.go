package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"regexp"
	"sort"
	"strings"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The widths that charts are drawn for, in units that are CSS pixels where there is room: text has its full size on a phone as well as on a
// screen, which one drawing that is scaled could not give.
const (
	wideChart   = 760
	narrowChart = 336
)

const chartText = 14 // of all text in charts, in their units

// chart is one drawing.
type chart struct {
	title, desc   string // for those who cannot see it
	width, height float64
	draw          func(draw.Canvas)
}

// svg renders the chart as an element to be put into the page, whose style sheet has the colours. The id is unique in the page.
func (c chart) svg(id, class string) []byte {
	return c.render(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="%s" viewBox="0 0 %g %g" role="img" aria-labelledby="%s-t %s-d">`,
		class, c.width, c.height, id, id), id, func(s shade) string { return "var(--" + s.name + ")" })
}

// file renders the chart as an image file of its own, on a ground of its own, as it cannot know what it is put upon.
func (c chart) file() []byte {
	const id, margin = "chart", 16
	width, height := c.width+2*margin, c.height+2*margin
	image := c.render(fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="%d %d %g %g" role="img" aria-labelledby="%s-t %s-d">`,
		width, height, -margin, -margin, width, height, id, id), id, func(s shade) string { return s.light })
	under := fmt.Sprintf(`</desc><rect x="%d" y="%d" width="%g" height="%g" rx="8" fill="%s"/>`, -margin, -margin, width, height, shades[ground].light)
	return bytes.Replace(image, []byte("</desc>"), []byte(under), 1)
}

func (c chart) render(open, id string, colour func(shade) string) []byte {
	canvas := vgsvg.NewWith(vgsvg.UseWH(vg.Length(c.width), vg.Length(c.height)))
	c.draw(draw.New(canvas))
	var raw bytes.Buffer
	_, _ = canvas.WriteTo(&raw) // into memory, which never fails
	_, body, _ := strings.Cut(raw.String(), "<svg")
	_, body, _ = strings.Cut(body, ">")
	pairs := []string{
		"font-family:Liberation Sans;font-variant:none;font-weight:normal;font-style:normal;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;",
		"font-family:Liberation Sans;font-variant:none;font-weight:bold;font-style:normal;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;font-weight:bold;",
		"\n\tstyle=", " style=",
	}
	for i, s := range shades {
		pairs = append(pairs, hex(mark(i)), ":"+colour(s), hex(faint(i)), ":"+colour(s)+";fill-opacity:0.4")
	}
	body = texts.ReplaceAllStringFunc(strings.NewReplacer(pairs...).Replace(body), fit)
	return fmt.Appendf(nil, "%s<title id=\"%s-t\">%s</title><desc id=\"%s-d\">%s</desc>%s", open, id, html.EscapeString(c.title), id,
		html.EscapeString(c.desc), body)
}

var texts = regexp.MustCompile(`<text ([^>]*)>([^<]*)</text>`)

// fit gives a text the width that it was laid out with, as the reader's fonts may be wider than those that were measured here.
func fit(text string) string {
	part := texts.FindStringSubmatch(text)
	width := textStyle(ink, strings.Contains(part[1], "font-weight:bold")).Width(html.UnescapeString(part[2]))
	return fmt.Sprintf(`<text %s textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`, part[1], width.Points(), part[2])
}

// hex is a colour as the SVG has it in its styles.
func hex(c color.RGBA) string { return fmt.Sprintf(":#%02X%02X%02X", c.R, c.G, c.B) }

func textStyle(shade int, bold bool) draw.TextStyle {
	style := plot.New().X.Tick.Label
	style.Color = mark(shade)
	style.Font = font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, chartText)
	if bold {
		style.Font.Weight = xfont.WeightBold
	}
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	return style
}

func lineStyle(shade int, width float64, dash ...vg.Length) draw.LineStyle {
	return draw.LineStyle{Color: mark(shade), Width: vg.Length(width), Dashes: dash}
}

// newPlot is a plot without title, legend and ground, with quiet axes.
func newPlot() *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.LineStyle = lineStyle(rule, 1)
		axis.Tick.LineStyle = lineStyle(rule, 1)
		axis.Tick.Length = 4
		axis.Padding = 0
		x, y := axis.Tick.Label.XAlign, axis.Tick.Label.YAlign
		axis.Tick.Label = textStyle(quiet, false)
		axis.Tick.Label.XAlign, axis.Tick.Label.YAlign = x, y
		x, y = axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign
		axis.Label.TextStyle = textStyle(quiet, false)
		axis.Label.TextStyle.XAlign, axis.Label.TextStyle.YAlign = x, y
		axis.Label.Padding = 4
	}
	return p
}

// label is a text that others wrote, as one that a chart has room for.
func label(text string, bold bool, width vg.Length) string {
	visible := []rune(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1 // among them those that turn the direction of writing
		}
		return r
	}, line(text)))
	style := textStyle(ink, bold)
	if style.Width(string(visible)) <= width {
		return string(visible)
	}
	n := sort.Search(len(visible), func(n int) bool { return style.Width(string(visible[:n])+"…") > width })
	return string(visible[:max(0, n-1)]) + "…"
}
