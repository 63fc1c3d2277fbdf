package idgen_test

import (
	"fmt"
	"log"

	"github.com/snowkey-go/snowkey/idgen"
)

// The texts of one id, and the way back.
func ExampleEncoding() {
	const id = 1541815603606036480
	for _, e := range idgen.Encodings() {
		text, err := e.Encode(id)
		if err != nil {
			log.Fatal(err)
		}
		back, err := e.Parse(text)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-7s %-20s %t\n", e.Name(), text, back == id)
	}
	// Output:
	// dec     1541815603606036480  true
	// hex     1565a11f6217a000     true
	// base32  1ASD13XH1F800        true
	// base36  bppc0m3ju134         true
	// base58  4aaW4SzAyQK          true
	// base62  1ptWyK4WgZU          true
}

// Base32 can be read out on the telephone: case does not matter, nor whether a zero is taken for an O.
func ExampleEncoding_Parse() {
	id, err := idgen.Base32.Parse("1aoi")
	fmt.Println(id, err)

	_, err = idgen.Base32.Parse("1A0U")
	fmt.Println(err)
	// Output:
	// 43009 <nil>
	// idgen: not the text of an id: "1A0U" has "U" at place 4, which is no digit to the base 32
}

// An alphabet of one's own. It makes short texts, and no secret of the id.
func ExampleNewEncoding() {
	e, err := idgen.NewEncoding("ohrfjdgPzp3T2XkNulQBFas9eJDmW7VKSC51cbUL8tRiOqIwZn406YEMyGxHAv")
	if err != nil {
		log.Fatal(err)
	}
	for id := range int64(3) {
		text, err := e.Encode(1541815603606036480 + id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(text)
	}
	_, err = idgen.NewEncoding("0123456789abcdef0")
	fmt.Println(err)
	// Output:
	// h0MSAFjSR1V
	// h0MSAFjSR1K
	// h0MSAFjSR1S
	// idgen: invalid encoding: characters 1 and 17 of the alphabet are both '0'
}

// Order numbers with the date: 15 digits after it are the rest of the id.
func ExampleParseTextForm() {
	form, err := idgen.ParseTextForm("ORD-{date}", idgen.Snowkey.Layout)
	if err != nil {
		log.Fatal(err)
	}
	text, err := form.Encode(165113107628032000)
	fmt.Println(text, err)
	id, err := form.Parse(text)
	fmt.Println(id, err)
	_, err = form.Parse("ORD-20260431226628780032000")
	fmt.Println(err)
	// Output:
	// ORD-20260401226628780032000 <nil>
	// 165113107628032000 <nil>
	// idgen: not the text of an id: "ORD-20260431226628780032000" has "20260431" for its date, must be YYYYMMDD
}
