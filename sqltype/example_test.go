package sqltype_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/snowkey-go/snowkey/publicid"
	"github.com/snowkey-go/snowkey/sqltype"
)

type Customer struct {
	ID   sqltype.Key[Customer] `json:"id"`
	Name string                `json:"name"`
}

type Invoice struct {
	ID         sqltype.Key[Invoice]  `json:"id"`
	CustomerID sqltype.Key[Customer] `json:"customerID"`
}

// Keys of different models are of different types.
func ExampleKey() {
	greet := func(id sqltype.Key[Customer]) { fmt.Println("hello,", id) }

	invoice := Invoice{ID: 1541815603606036481, CustomerID: 1541815603606036480}
	greet(invoice.CustomerID)
	// greet(invoice.ID) does not compile: cannot use invoice.ID (… Key[Invoice]) as Key[Customer] value.

	text, err := json.Marshal(invoice)
	fmt.Println(string(text), err)
	// Output:
	// hello, 1541815603606036480
	// {"id":"1541815603606036481","customerID":"1541815603606036480"} <nil>
}

// The key in a path or a query becomes that of a model.
func ExampleParseKey() {
	id, err := sqltype.ParseKey[Customer]("1541815603606036480")
	fmt.Println(id, err)

	_, err = sqltype.ParseKey[Customer]("1e18")
	fmt.Println(errors.Is(err, sqltype.ErrSyntax), err)
	// Output:
	// 1541815603606036480 <nil>
	// true sqltype: not a key: "1e18", want a decimal number
}

// What a key tells, and its short text.
func ExampleID_Parts() {
	id := sqltype.ID(153833648947228673)
	fmt.Println(id.Time().Format(time.RFC3339), id.Parts().Node, id.Parts().Sequence)

	again, err := sqltype.ParseShortID(id.Short())
	fmt.Println(id.Short(), again, err)
	// Output:
	// 2026-03-01T12:00:00Z 7 1
	// 48M6WE000W01 153833648947228673 <nil>
}

// A client that takes numbers alone gets numbers, from keys that are below 2^53, or an error.
func ExampleNumber() {
	type response struct {
		ID sqltype.Number `json:"id"`
	}
	text, err := json.Marshal(response{ID: 4503599627370497})
	fmt.Println(string(text), err)

	_, err = json.Marshal(response{ID: sqltype.Number(sqltype.ID(1541815603606036481))})
	fmt.Println(errors.Is(err, sqltype.ErrPrecision))
	// Output:
	// {"id":4503599627370497} <nil>
	// true
}

// A key is a string in JSON, and is read from a string or a number.
func ExampleID() {
	var ids []sqltype.ID
	err := json.Unmarshal([]byte(`["1541815603606036480", 1541815603606036481]`), &ids)
	fmt.Println(ids, err)

	text, err := json.Marshal(ids)
	fmt.Println(string(text), err)
	// Output:
	// [1541815603606036480 1541815603606036481] <nil>
	// ["1541815603606036480","1541815603606036481"] <nil>
}

type Session struct {
	ID sqltype.PublicUUID[Session] `json:"id"`
}

func (Session) Prefix() string { return "ses" }

// A UUID in the database is a TypeID for the world. With a publicid.Codec in place of TypeIDs it would tell nothing, not even its time.
func ExamplePublicUUID() {
	sqltype.UsePublicIDs(publicid.TypeIDs{}) // once, when the program starts
	defer sqltype.UsePublicIDs(nil)

	session := Session{ID: sqltype.PublicUUID[Session]{0x01, 0x89, 0x0a, 0x5d, 0xac, 0x96, 0x77, 0x4b, 0xbc, 0xce, 0xb3, 0x02, 0x09, 0x9a, 0x80, 0x57}}
	text, err := json.Marshal(session)
	fmt.Println(string(text), err)

	id, err := sqltype.ParsePublicUUID[Session]("ses_01h455vb4pex5vsknk084sn02q") // of a URL
	fmt.Println(sqltype.UUID(id), err)

	_, err = sqltype.ParsePublicUUID[Session]("usr_01h455vb4pex5vsknk084sn02q")
	fmt.Println(errors.Is(err, sqltype.ErrSyntax))
	// Output:
	// {"id":"ses_01h455vb4pex5vsknk084sn02q"} <nil>
	// 01890a5d-ac96-774b-bcce-b302099a8057 <nil>
	// true
}
