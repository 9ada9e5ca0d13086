package io.kagami.raft.core;

/** One entry of the log; (index, term) names it for ever. The bytes are shared, never changed. */
public final class Entry {
    /** Who an entry is for. */
    public enum Kind {
        /** First entry of a leader's term; the machine never sees it. */
        NO_OP(0),
        /** For the replicated machine. */
        COMMAND(1);

        private final byte value;

        Kind(int value) {
            this.value = (byte) value;
        }

        /** As written to disk. */
        public byte value() {
            return value;
        }

        public static Kind of(byte value) {
            for (Kind kind : values()) {
                if (kind.value == value) {
                    return kind;
                }
            }
            throw new IllegalArgumentException("no kind of entry has the value " + value);
        }
    }

    private static final byte[] NOTHING = new byte[0];

    private final long index;
    private final long term;
    private final Kind kind;
    private final byte[] data;

    /** The array is owned by the entry from now on. */
    public Entry(long index, long term, Kind kind, byte[] data) {
        this.index = index;
        this.term = term;
        this.kind = kind;
        this.data = data;
    }

    static Entry noOp(long index, long term) {
        return new Entry(index, term, Kind.NO_OP, NOTHING);
    }

    /** From 1 on. */
    public long index() {
        return index;
    }

    public long term() {
        return term;
    }

    public Kind kind() {
        return kind;
    }

    /** Not a copy: read only. */
    public byte[] data() {
        return data;
    }

    public int sizeInBytes() {
        return data.length;
    }

    @Override
    public String toString() {
        return kind + " " + index + "@" + term + " (" + data.length + " bytes)";
    }
}
