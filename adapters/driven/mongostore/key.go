package mongostore

import (
	"encoding/binary"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// key is an id or token: a BSON UUID.
type key [16]byte

// IsZero leaves the field out of a document.
func (k key) IsZero() bool { return k == key{} }

// MarshalBSONValue writes length, subtype and the 16 bytes.
func (k key) MarshalBSONValue() (byte, []byte, error) {
	data := make([]byte, 0, 5+len(k))
	data = binary.LittleEndian.AppendUint32(data, uint32(len(k)))
	data = append(data, bson.TypeBinaryUUID)
	return byte(bson.TypeBinary), append(data, k[:]...), nil
}

// UnmarshalBSONValue reads nothing but a UUID.
func (k *key) UnmarshalBSONValue(typ byte, data []byte) error {
	if bson.Type(typ) != bson.TypeBinary || len(data) != 5+len(k) || data[4] != bson.TypeBinaryUUID {
		return fmt.Errorf("a value of BSON type %d is no UUID", typ)
	}
	copy(k[:], data[5:])
	return nil
}
