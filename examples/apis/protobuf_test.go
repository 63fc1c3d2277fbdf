package apis_test

import (
	"encoding/json"
	"fmt"
	"log"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/snowkey-go/snowkey/sqltype"
)

// The field is an int64: Int64 fills it, a conversion reads it. protobuf's JSON has an int64 as a string, as that of an ID is. int64 suits keys
// better than fixed64 or sint64: a key of today is 9 bytes in each, and fixed64 has no sign.
func Example_protobuf() {
	id := sqltype.ID(153652455014400000)
	message := wrapperspb.Int64(id.Int64()) // a message of yours: &pb.Order{Id: order.ID.Int64()}
	wire, err := proto.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	var received wrapperspb.Int64Value
	if err := proto.Unmarshal(wire, &received); err != nil {
		log.Fatal(err)
	}
	ours, err := json.Marshal(id)
	if err != nil {
		log.Fatal(err)
	}
	theirs, err := protojson.Marshal(&received)
	fmt.Println(sqltype.ID(received.GetValue()) == id, len(wire), string(ours), string(theirs), err)
	// Output: true 10 "153652455014400000" "153652455014400000" <nil>
}
