package io.kagami.log.clean;

import java.nio.ByteBuffer;
import java.util.BitSet;

/** Reads and writes the records of a batch of any format version, which needs the codecs that this module does not know. One thread at a time. */
public interface BatchRewriter {
    /** Learns of the records of a batch, in order. */
    interface Sink {
        /** @param key a view that is valid during the call; null when the record has none */
        void onRecord(long offset, ByteBuffer key, boolean hasValue);
    }

    /**
     * @param batch one whole batch between position and limit; not moved
     * @throws Unreadable when it is malformed or inflates to more than is allowed
     */
    void read(ByteBuffer batch, Sink sink) throws Unreadable;

    /**
     * The same batch with some of its records: offsets, epochs, producer, sequence, codec and timestamps as they were. A v2 batch keeps its
     * base and last offset, a v0/v1 wrapper ends at its last record.
     *
     * @param batch as in {@link #read}
     * @param kept indexes of the records to keep, at least one
     * @param deleteHorizonMs set in a v2 batch; -1 leaves it as it is
     */
    ByteBuffer rewrite(ByteBuffer batch, BitSet kept, long deleteHorizonMs) throws Unreadable;

    /** The bytes are no batch that can be read; the message says why. */
    final class Unreadable extends Exception {
        private static final long serialVersionUID = 1L;

        public Unreadable(String message, Throwable cause) {
            super(message, cause);
        }
    }
}
