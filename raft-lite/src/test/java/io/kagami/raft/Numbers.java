package io.kagami.raft;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** A machine that remembers every number it was given, in order. An entry is a number and padding. */
final class Numbers implements ReplicatedMachine {
    final List<Long> seen = new ArrayList<>();
    long lastIndex;

    static byte[] entry(long number, int padding) {
        ByteBuffer bytes = ByteBuffer.allocate(8 + padding);
        bytes.putLong(number);
        for (int i = 0; i < padding; i++) {
            bytes.put((byte) (number * 31 + i));
        }
        return bytes.array();
    }

    @Override
    public void apply(long index, byte[] entry) {
        if (index <= lastIndex) {
            throw new IllegalStateException("index " + index + " after " + lastIndex);
        }
        ByteBuffer bytes = ByteBuffer.wrap(entry);
        long number = bytes.getLong();
        for (int i = 0; bytes.hasRemaining(); i++) {
            if (bytes.get() != (byte) (number * 31 + i)) {
                throw new IllegalStateException("the bytes of entry " + index + " are not those proposed");
            }
        }
        lastIndex = index;
        seen.add(number);
    }

    @Override
    public byte[] snapshot() {
        ByteBuffer bytes = ByteBuffer.allocate(8 * (seen.size() + 1));
        bytes.putLong(lastIndex);
        seen.forEach(bytes::putLong);
        return bytes.array();
    }

    @Override
    public void restore(long index, byte[] snapshot) {
        ByteBuffer bytes = ByteBuffer.wrap(snapshot);
        seen.clear();
        lastIndex = bytes.getLong();
        while (bytes.hasRemaining()) {
            seen.add(bytes.getLong());
        }
    }
}
