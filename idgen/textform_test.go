package idgen_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/snowkey-go/snowkey/idgen"
)

func textForm(t testing.TB, name string, layout idgen.Layout) idgen.TextForm {
	t.Helper()
	form, err := idgen.ParseTextForm(name, layout)
	if err != nil {
		t.Fatal(err)
	}
	return form
}

// datedLayouts are layouts whose days have different numbers of ids and begin in the middle of a tick, and some that end early or late.
func datedLayouts(t testing.TB) map[string]idgen.Layout {
	layouts := map[string]idgen.Layout{"snowkey": idgen.Snowkey.Layout, "twitter": idgen.Twitter.Layout, "sonyflake": idgen.Sonyflake.Layout, "instagram": idgen.Instagram.Layout, "js53": idgen.JS53.Layout}
	for name, text := range map[string]string{
		"seven hours":   "time=20@7h,node=3,sequence=5;epoch=2025-01-01T03:30:00.000000001Z",
		"hundred days":  "time=10@2400h,sequence=5;epoch=1999-12-31T23:00:00Z",
		"minutes":       "time=16@1m,sequence=10;epoch=2025-02-28T12:00:00Z",
		"less of a day": "time=10@1s,sequence=4;epoch=2024-02-28T23:50:00Z",
		"thousands":     "time=45@1s,sequence=4;epoch=2025-01-01T00:00:00Z",
	} {
		layout, err := idgen.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		layouts[name] = layout
	}
	return layouts
}

// Texts with a date have the calendar's date of the id's time in the zone, one length, the order of the ids, and lead back to these: for ids around midnights, at
// both ends of the layout, and random ones.
func TestTextFormDates(t *testing.T) {
	for name, layout := range datedLayouts(t) {
		for form, zone := range map[string]*time.Location{
			"{date}": time.UTC, "ORD-{date+08:00}": time.FixedZone("", 8*3600), "{date-09:30}": time.FixedZone("", -9*3600-1800), "x{date+14:00}": time.FixedZone("", 14*3600),
		} {
			t.Run(name+" "+form, func(t *testing.T) {
				f := textForm(t, form, layout)
				if f.Name() != form {
					t.Errorf("got the name %q", f.Name())
				}
				prefix, _, _ := strings.Cut(form, "{")
				most, last := min(layout.Max(idgen.Time), (time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC).Unix()-layout.Epoch().Unix())/int64(max(1, layout.Unit().Seconds()))), layout.Shift(idgen.Time)
				ids := []int64{0, 1, 1<<last - 1, most<<last | (1<<last - 1), most << last}
				random := rand.New(rand.NewPCG(1, 2))
				for range 500 {
					id := random.Int64N(most+1)<<last | random.Int64N(1<<last)
					ids = append(ids, id)
					year, month, day := layoutTime(t, layout, id).In(zone).Date()
					for _, midnight := range []time.Time{time.Date(year, month, day, 0, 0, 0, 0, zone), time.Date(year, month, day+1, 0, 0, 0, 0, zone)} {
						least, err := layout.MinID(midnight)
						if err != nil {
							continue
						}
						ids = append(ids, least)
						if least > 0 {
							ids = append(ids, least-1)
						}
					}
				}
				texts := map[string]int64{}
				for i, id := range ids {
					text, err := f.Encode(id)
					if err != nil && layoutTime(t, layout, id).Year() > 9998 {
						continue
					} else if err != nil {
						t.Fatalf("%d: %v", id, err)
					}
					texts[text] = id
					want := prefix + layoutTime(t, layout, id).In(zone).Format("20060102")
					first, err := f.Encode(ids[0])
					if err != nil || !strings.HasPrefix(text, want) || len(text) != len(first) {
						t.Fatalf("%d: got %q, want %s… of %d characters (error %v)", id, text, want, len(first), err)
					}
					if back, err := f.Parse(text); err != nil || back != id {
						t.Fatalf("%q: got %d and the error %v, want %d", text, back, err, id)
					}
					before, err := f.Encode(ids[max(0, i-1)])
					if err == nil && (before < text) != (ids[max(0, i-1)] < id) {
						t.Fatalf("%d is %q and %d is %q", ids[i-1], before, id, text)
					}
				}
				if len(texts) < 6 {
					t.Errorf("got %d texts", len(texts))
				}
			})
		}
	}
}

func layoutTime(t testing.TB, layout idgen.Layout, id int64) time.Time {
	t.Helper()
	parts, err := layout.Decode(id)
	if err != nil {
		t.Fatal(err)
	}
	return parts.Time
}

// The rest is counted from the first id whose tick begins on the date, in as many digits as a day needs.
func TestTextFormRest(t *testing.T) {
	for name, texts := range map[string]map[int64]string{
		"snowkey":     {0: "20250101000000000000000", 86_400_000 << 22: "20250102000000000000000", 86_400_000<<22 - 1: "20250101362387865599999"},
		"seven hours": {0: "202501010000", 255: "202501010255", 3 << 8: "202501020000", 7<<8 - 1: "202501021023"},
		"minutes":     {720<<10 - 1: "202502280737279", 720 << 10: "202503010000000"},
	} {
		form := textForm(t, "{date}", datedLayouts(t)[name])
		for id, want := range texts {
			if text, err := form.Encode(id); err != nil || text != want {
				t.Errorf("%s, %d: got %q and the error %v, want %q", name, id, text, err, want)
			}
		}
	}
	layout := datedLayouts(t)["thousands"]
	seconds := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - layout.Epoch().Unix()
	if text, err := textForm(t, "{date}", layout).Encode(seconds << 4); !errors.Is(err, idgen.ErrRange) {
		t.Errorf("the year 10000: got %q and the error %v", text, err)
	}
}

func TestTextFormNames(t *testing.T) {
	const id = 1541815603606036480
	for name, want := range map[string]string{
		"dec":                  "1541815603606036480",
		"base58":               "4aaW4SzAyQK",
		"{base58}":             "4aaW4SzAyQK",
		"ORD-{base58}":         "ORD-4aaW4SzAyQK",
		"1{hex}":               "11565a11f6217a000",
		"{date}":               "20220628243521732190208",
		"20{date+08:00}":       "2020220629001929821790208",
		"alphabet={}01":        "", // an alphabet alone
		"a{alphabet={}01234}":  "",
		"a{alphabet=01234567}": fmt.Sprintf("a%o", int64(id)),
	} {
		f := textForm(t, name, idgen.Twitter.Layout)
		text, err := f.Encode(id)
		if err != nil || want != "" && text != want {
			t.Errorf("%s: got %q and the error %v, want %q", name, text, err, want)
		}
		if back, err := f.Parse(text); err != nil || back != id {
			t.Errorf("%s: %q is %d and the error %v", name, text, back, err)
		}
	}
	if !textForm(t, "a{base58}", idgen.Layout{}).CaseSensitive() || textForm(t, "aA{base32}", idgen.Layout{}).CaseSensitive() || textForm(t, "aA{date}", idgen.Snowkey.Layout).CaseSensitive() {
		t.Error("the prefix, which all texts have, makes a form sensitive to case; or the digits do not")
	}
}

func TestTextFormErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		layout idgen.Layout
		is     error
		want   string
	}{
		{"", idgen.Snowkey.Layout, idgen.ErrEncoding, "no encoding is named"},
		{"ORD-", idgen.Snowkey.Layout, idgen.ErrEncoding, "no encoding is named"},
		{"{}", idgen.Snowkey.Layout, idgen.ErrEncoding, "{date} or {date+08:00} is a placeholder, too"},
		{"{dates}", idgen.Snowkey.Layout, idgen.ErrEncoding, "-14:00 to +14:00"},
		{"{date+8}", idgen.Snowkey.Layout, idgen.ErrEncoding, `"+8"`},
		{"{date+08:60}", idgen.Snowkey.Layout, idgen.ErrEncoding, `"+08:60"`},
		{"{date+14:01}", idgen.Snowkey.Layout, idgen.ErrEncoding, `"+14:01"`},
		{"{date}{hex}", idgen.Snowkey.Layout, idgen.ErrEncoding, "its one placeholder"},
		{"{date}x", idgen.Snowkey.Layout, idgen.ErrEncoding, "must end with the brace"},
		{"a b{date}", idgen.Snowkey.Layout, idgen.ErrEncoding, "' ' at place 2"},
		{"}{date}", idgen.Snowkey.Layout, idgen.ErrEncoding, "'}' at place 1"},
		{"ö{date}", idgen.Snowkey.Layout, idgen.ErrEncoding, "'ö' at place 1"},
		{strings.Repeat("x", 33) + "{date}", idgen.Snowkey.Layout, idgen.ErrEncoding, "33 characters before its placeholder, at most 32"},
		{"{date}", idgen.Packed.Layout, idgen.ErrLayout, "no single field of time on top"},
		{"{date}", idgen.Layout{}, idgen.ErrLayout, "needs the layout"},
	} {
		form, err := idgen.ParseTextForm(test.name, test.layout)
		if !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) || form != (idgen.TextForm{}) {
			t.Errorf("%q: got %+v and the error %v, want %q", test.name, form, err, test.want)
		}
	}
	form := textForm(t, "ORD-{date}", idgen.Snowkey.Layout)
	for text, want := range map[string]error{
		"": idgen.ErrSyntax, "20260401226628780032000": idgen.ErrSyntax, "ORD-": idgen.ErrSyntax, "ord-20260401226628780032000": idgen.ErrSyntax,
		"ORD-2026040122662878003200": idgen.ErrSyntax, "ORD-202604010226628780032000": idgen.ErrSyntax, "ORD-20260431226628780032000": idgen.ErrSyntax,
		"ORD-2026040a226628780032000": idgen.ErrSyntax, "ORD-20260401+26628780032000": idgen.ErrSyntax, "ORD-20260401 26628780032000": idgen.ErrSyntax,
		"ORD-20241231000000000000000": idgen.ErrRange, "ORD-00000101000000000000000": idgen.ErrRange, "ORD-20950101000000000000000": idgen.ErrRange,
		"ORD-20260401362387865600000": idgen.ErrRange, "ORD-20260401999999999999999": idgen.ErrRange,
		"ORD-20260401226628780032000": nil, "ORD-20260401362387865599999": nil, "ORD-20250101000000000000000": nil,
	} {
		if id, err := form.Parse(text); !errors.Is(err, want) || want != nil && id != 0 {
			t.Errorf("%q: got %d and the error %v, want %v", text, id, err, want)
		}
	}
	for _, id := range []int64{-1, math.MinInt64} {
		for _, form := range []idgen.TextForm{form, textForm(t, "ORD-{hex}", idgen.Layout{})} {
			if b, err := form.AppendText([]byte("x"), id); !errors.Is(err, idgen.ErrRange) || string(b) != "x" {
				t.Errorf("%d: got %q and the error %v", id, b, err)
			}
		}
	}
	var zero idgen.TextForm
	if _, err := zero.Encode(1); !errors.Is(err, idgen.ErrEncoding) {
		t.Errorf("the zero form, Encode: got the error %v", err)
	}
	if _, err := zero.Parse("1"); !errors.Is(err, idgen.ErrEncoding) {
		t.Errorf("the zero form, Parse: got the error %v", err)
	}
}

// Whatever Parse reads is the one text of its id.
func FuzzTextFormParse(f *testing.F) {
	for _, text := range []string{"ORD-20260401226628780032000", "ORD-20250101000000000000000", "ORD-99991231999999999999999", "20260401226628780032000"} {
		f.Add("ORD-{date}", text)
		f.Add("{date+08:00}", text)
	}
	f.Add("A{alphabet={}}", "A{{")
	f.Fuzz(func(t *testing.T, name, text string) {
		form, err := idgen.ParseTextForm(name, idgen.Snowkey.Layout)
		if err != nil {
			return
		}
		id, err := form.Parse(text)
		if err != nil {
			if id != 0 || !errors.Is(err, idgen.ErrSyntax) && !errors.Is(err, idgen.ErrRange) {
				t.Fatalf("%s, %q: got %d, %v", name, text, id, err)
			}
			return
		}
		again, err := form.Encode(id)
		if err != nil || strings.Contains(name, "{date") && again != text {
			t.Fatalf("%s, %q: got %d, whose text is %q (error %v)", name, text, id, again, err)
		}
	})
}

func TestTextFormAllocates(t *testing.T) {
	form := textForm(t, "ORD-{date+08:00}", idgen.Snowkey.Layout)
	buffer := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { _, _ = form.AppendText(buffer, 165113107628032000) }); n != 0 {
		t.Errorf("AppendText allocates %v times", n)
	}
}
