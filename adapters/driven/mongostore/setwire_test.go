package mongostore_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

const streamID = int64(4711)

func stream(name string, batch bson.A) bson.D {
	if batch == nil {
		batch = bson.A{}
	}
	return append(ok(), bson.E{Key: "cursor", Value: bson.D{{Key: "id", Value: streamID}, {Key: "ns", Value: "a.hints"}, {Key: name, Value: batch}}})
}

func ok() bson.D { return bson.D{{Key: "ok", Value: 1.0}} }

func get(d bson.D, name string) any {
	for _, e := range d {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

// text is a value as a key of a map.
func text(value any) string {
	raw, _ := bson.Marshal(bson.D{{Key: "v", Value: value}})
	return string(raw)
}

func inTx(c bson.D) bool { return get(c, "autocommit") == false }

// txOf names the session and its transaction.
func txOf(c bson.D) string { return text(get(c, "lsid")) + text(get(c, "txnNumber")) }

func watches(c bson.D) bool {
	pipeline, _ := get(c, "pipeline").(bson.A)
	if len(pipeline) == 0 {
		return false
	}
	first, _ := pipeline[0].(bson.D)
	return len(first) > 0 && first[0].Key == "$changeStream"
}

func cursorOf(c bson.D, field string) bool {
	list, many := get(c, field).(bson.A)
	return get(c, field) == streamID || many && len(list) > 0 && list[0] == streamID
}

// plain is a command without what a stand-alone server does not take.
func plain(c bson.D) bson.D {
	return slices.DeleteFunc(slices.Clone(c), func(e bson.E) bool {
		return slices.Contains([]string{"lsid", "txnNumber", "startTransaction", "autocommit", "$clusterTime", "$readPreference", "readConcern", "writeConcern"}, e.Key)
	})
}

// ask sends a command to the real server.
func ask(server net.Conn, c bson.D) (bson.D, error) {
	if err := send(server, 1, false, c); err != nil {
		return nil, err
	}
	_, _, reply, err := receive(server)
	return reply, err
}

// send writes one message: OP_MSG, or OP_REPLY to a greeting of old.
func send(to net.Conn, id uint32, legacy bool, doc bson.D) error {
	body, err := bson.Marshal(doc)
	if err != nil {
		return err
	}
	code, prefix := uint32(2013), make([]byte, 5)
	if legacy {
		code, prefix = 1, make([]byte, 20)
		prefix[16] = 1 // documents
	}
	var m []byte
	for _, n := range []uint32{uint32(16 + len(prefix) + len(body)), id, id, code} {
		m = binary.LittleEndian.AppendUint32(m, n)
	}
	_, err = to.Write(append(append(m, prefix...), body...))
	return err
}

// receive reads one message as one document.
func receive(from net.Conn) (id uint32, legacy bool, doc bson.D, err error) {
	var header [16]byte
	if _, err = io.ReadFull(from, header[:]); err != nil {
		return 0, false, nil, err
	}
	body := make([]byte, binary.LittleEndian.Uint32(header[:])-16)
	if _, err = io.ReadFull(from, body); err != nil {
		return 0, false, nil, err
	}
	id = binary.LittleEndian.Uint32(header[4:])
	switch binary.LittleEndian.Uint32(header[12:]) {
	case 2004: // OP_QUERY: flags, name, skip, return
		doc, err = sections(append([]byte{0}, body[4+bytes.IndexByte(body[4:], 0)+9:]...))
		return id, true, doc, err
	case 2013:
		doc, err = sections(body[4:])
		return id, false, doc, err
	}
	return 0, false, nil, errors.New("a message of another sort")
}

// sections puts the parts of a message together.
func sections(body []byte) (doc bson.D, err error) {
	for len(body) > 4 {
		size := int(binary.LittleEndian.Uint32(body[1:]))
		part := body[1 : 1+size]
		if body[0] == 0 {
			err = bson.Unmarshal(part, &doc)
		} else {
			end := 4 + bytes.IndexByte(part[4:], 0)
			list := bson.A{}
			for rest := part[end+1:]; len(rest) > 0 && err == nil; {
				var one bson.D
				n := binary.LittleEndian.Uint32(rest)
				err = bson.Unmarshal(rest[:n], &one)
				list, rest = append(list, one), rest[n:]
			}
			doc = append(doc, bson.E{Key: string(part[4:end]), Value: list})
		}
		if err != nil {
			return nil, err
		}
		body = body[1+size:]
	}
	return doc, nil
}
