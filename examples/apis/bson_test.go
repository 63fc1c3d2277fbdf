package apis_test

import (
	"fmt"
	"log"
	"math"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/snowkey-go/snowkey/sqltype"
)

type customer struct {
	ID  sqltype.Key[customer] `bson:"_id"`
	All []sqltype.ID          `bson:"all"`
	Ref *sqltype.ID           `bson:"ref"`
}

// BSON has a key as a 64-bit integer.
func Example_bson() {
	document, err := bson.Marshal(customer{ID: 153652455014400000})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(bson.Raw(document))
	// Output: {"_id": {"$numberLong":"153652455014400000"},"all": null,"ref": null}
}

// Every key comes back as it was, also one that would fit 32 bits.
func TestBSON(t *testing.T) {
	for _, id := range []sqltype.ID{0, 7, -1, 1541815603606036481, math.MaxInt64, math.MinInt64} {
		sent := customer{ID: sqltype.Key[customer](id), All: []sqltype.ID{id, 1}, Ref: &id}
		document, err := bson.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		if kind := bson.Raw(document).Lookup("_id").Type; kind != bson.TypeInt64 {
			t.Errorf("%d: got the type %s, want a 64-bit integer", id, kind)
		}
		var got customer
		if err := bson.Unmarshal(document, &got); err != nil || !reflect.DeepEqual(got, sent) {
			t.Errorf("got %+v, %v, want %+v", got, err, sent)
		}
	}
}
