package io.kagami.protocol.codec;

import java.util.List;
import java.util.Map;

/**
 * What a field looks like on the wire and what reading it allocates, compiled from Kafka's schemas. Walking a frame by its shape
 * allocates nothing and proves that every declared count and length is backed by bytes, before the generated readers, which trust
 * counts, see it.
 */
sealed interface Shape {
    /** Bytes that every value of this shape takes at least. */
    int sizeMin();

    void walk(ShapeCursor in);

    /** The hash code of the value that was walked from that index of the buffer on. */
    default int hash(ShapeCursor in, int from) {
        throw new IllegalStateException(this + " is no key");
    }

    private static MalformedFrame isNull(String name, ShapeCursor in) {
        return new MalformedFrame("field " + name + " before byte " + in.position() + " is null, which it must not be");
    }

    /** @param boxed what one element of an array of these allocates */
    record Fixed(String name, int sizeMin, int boxed) implements Shape {
        @Override
        public void walk(ShapeCursor in) {
            in.skip(sizeMin, name);
            in.charge(boxed);
        }

        @Override
        public int hash(ShapeCursor in, int from) {
            return switch (sizeMin) {
                case Byte.BYTES -> in.buf().getByte(from);
                case Short.BYTES -> in.buf().getShort(from);
                case Integer.BYTES -> in.buf().getInt(from);
                case Long.BYTES -> Long.hashCode(in.buf().getLong(from));
                default -> HashKey.ofUuid(in.buf(), from);
            };
        }
    }

    /** Varint or varlong, which no request uses today. */
    record Variable(String name) implements Shape {
        @Override
        public int sizeMin() {
            return 1;
        }

        @Override
        public void walk(ShapeCursor in) {
            for (int i = 0; in.int8(name) < 0; i++) {
                if (i == 9) {
                    throw new MalformedFrame("field " + name + " is a number longer than 64 bits");
                }
            }
        }
    }

    record Text(String name, boolean compact, boolean nullable) implements Shape {
        private static final int STRING = 24;
        private static final int UNSHARED_FROM = 1024;

        @Override
        public int sizeMin() {
            return compact ? 1 : Short.BYTES;
        }

        @Override
        public void walk(ShapeCursor in) {
            int length = compact ? in.varint(name) - 1 : in.int16(name);
            if (length == -1 && nullable) {
                return;
            }
            if (length < 0) {
                throw length == -1
                        ? isNull(name, in)
                        : new MalformedFrame(
                                "field " + name + " before byte " + in.position() + " has length " + length);
            }
            boolean ascii = in.skipAscii(length, name);
            if (length > 0) {
                // not ASCII: decoded at two bytes a character, then trimmed
                in.charge(STRING + ObjectSizes.align(ObjectSizes.ARRAY_HEADER + (ascii ? 1L : 4L) * length));
            }
            if (length > UNSHARED_FROM) {
                in.charge(ObjectSizes.align(ObjectSizes.ARRAY_HEADER + (long) length));
            }
        }

        @Override
        public int hash(ShapeCursor in, int from) {
            int length = in.index() - from;
            if (!compact) {
                return HashKey.ofText(in.buf(), from + Short.BYTES, length - Short.BYTES);
            }
            int prefix = 1;
            while (in.buf().getByte(from + prefix - 1) < 0) {
                prefix++;
            }
            return HashKey.ofText(in.buf(), from + prefix, length - prefix);
        }
    }

    /** @param view records stay a view of the frame; other bytes are copied */
    record Blob(String name, boolean compact, boolean nullable, boolean view) implements Shape {
        private static final int VIEW = 192;

        @Override
        public int sizeMin() {
            return compact ? 1 : Integer.BYTES;
        }

        @Override
        public void walk(ShapeCursor in) {
            int length = compact ? in.varint(name) - 1 : in.int32(name);
            if (length == -1 && nullable) {
                return;
            }
            if (length == -1) {
                throw isNull(name, in);
            }
            in.skip(length, name);
            in.charge(view ? VIEW : ObjectSizes.align(ObjectSizes.ARRAY_HEADER + (long) length));
        }
    }

    /** @param key of the elements, when they are read into a hash collection instead of a list; else null */
    record Array(String name, Shape element, boolean compact, boolean nullable, HashKey key) implements Shape {
        private static final int LIST_FIRST = 1_000;

        @Override
        public int sizeMin() {
            return compact ? 1 : Integer.BYTES;
        }

        @Override
        public void walk(ShapeCursor in) {
            int count = compact ? in.varint(name) - 1 : in.int32(name);
            if (count == -1 && nullable) {
                return;
            }
            if (count == -1) {
                throw isNull(name, in);
            }
            if (count < 0 || (long) count * element.sizeMin() > in.remaining()) {
                throw new MalformedFrame("array " + name + " before byte " + in.position() + " declares "
                        + Integer.toUnsignedString(count) + " elements of at least " + element.sizeMin() + " bytes, "
                        + in.remaining() + " remain");
            }
            in.charge(key == null ? list(count) : hashTable(count));
            if (key != null && count > HashTableCheck.HARMLESS) {
                hashed(in, count);
                return;
            }
            for (int i = 0; i < count; i++) {
                element.walk(in);
            }
        }

        private void hashed(ShapeCursor in, int count) {
            // one hash and two bits for each slot that is tried
            in.charge((long) count * Integer.BYTES + HashTableCheck.slots(count) / Byte.SIZE);
            int[] hashes = new int[count];
            for (int i = 0; i < count; i++) {
                hashes[i] = ((Struct) element).walkHashing(in, key);
            }
            if (HashTableCheck.pilesUp(hashes)) {
                throw new MalformedFrame("array " + name + " before byte " + in.position() + " has " + count
                        + " elements, too many of them with equal or colliding keys");
            }
        }

        private static long hashTable(int count) {
            return ObjectSizes.HASH_COLLECTION + HashTableCheck.slots(count) * ObjectSizes.REFERENCE;
        }

        /** A list starts with room for at most a thousand and grows by half. */
        private static long list(int count) {
            if (count == 0) {
                return ObjectSizes.LIST;
            }
            int capacity = Math.min(count, LIST_FIRST);
            long slots = capacity;
            while (capacity < count) {
                capacity += capacity >> 1;
                slots += capacity;
            }
            return ObjectSizes.LIST + ObjectSizes.align(ObjectSizes.ARRAY_HEADER + slots * ObjectSizes.REFERENCE);
        }
    }

    /** @param object bytes of the Java object */
    record Struct(String name, List<Shape> fields, int sizeMin, int object, boolean nullable) implements Shape {
        @Override
        public void walk(ShapeCursor in) {
            if (nullable && in.int8(name) < 0) {
                return;
            }
            in.charge(object);
            for (Shape field : fields) {
                field.walk(in);
            }
        }

        /** Walks, and returns the hash code that the object will have. */
        int walkHashing(ShapeCursor in, HashKey key) {
            in.charge(object);
            int hash = 0;
            int next = 0;
            for (int i = 0; i < fields.size(); i++) {
                Shape field = fields.get(i);
                int from = in.index();
                field.walk(in);
                while (next < key.parts().size() && key.parts().get(next).field() <= i) {
                    HashKey.Part part = key.parts().get(next++);
                    hash = HashKey.FACTOR * hash + (part.field() == i ? field.hash(in, from) : part.absent());
                }
            }
            return hash;
        }
    }

    /** The section of tagged fields at the end of a structure; unknown ones are skipped. */
    record Tags(String name, Map<Integer, Shape> known) implements Shape {
        private static final int COUNT_MAX = 64;

        @Override
        public int sizeMin() {
            return 1;
        }

        @Override
        public void walk(ShapeCursor in) {
            int count = in.varint(name);
            if (count < 0 || count > COUNT_MAX) {
                throw new MalformedFrame(name + " declares " + Integer.toUnsignedString(count)
                        + " tagged fields, at most " + COUNT_MAX + " are accepted");
            }
            int last = -1;
            for (int i = 0; i < count; i++) {
                int tag = in.varint(name);
                if (tag <= last) {
                    throw new MalformedFrame(
                            name + " has tagged field " + Integer.toUnsignedString(tag) + " after " + last);
                }
                last = tag;
                value(in, tag, in.varint(name));
            }
        }

        private void value(ShapeCursor in, int tag, int size) {
            Shape shape = known.get(tag);
            int before = in.position();
            if (shape == null || size < 0 || size > in.remaining()) {
                in.skip(size, name + " tag " + tag);
                return;
            }
            shape.walk(in);
            if (in.position() - before != size) {
                throw new MalformedFrame(
                        name + " tag " + tag + " declares " + size + " bytes and takes " + (in.position() - before));
            }
        }
    }
}
