package io.kagami.mirror.core;

/** Actual state of a mirror partition (values are durable). */
public enum Phase {
    LOG_ALIGNMENT(0),
    EPOCH_FENCING(1),
    ULE_RECOVERY(2),
    MIRRORING(3),
    PAUSING(4),
    PAUSED(5),
    STOPPING(6),
    STOPPED(7),
    FAILED(8);

    private final byte value;

    Phase(int value) {
        this.value = (byte) value;
    }

    public byte value() {
        return value;
    }

    public static Phase of(byte value) {
        for (Phase phase : values()) {
            if (phase.value == value) {
                return phase;
            }
        }
        throw new IllegalArgumentException("no mirror state has the value " + value);
    }
}
