package io.kagami.broker.net;

/**
 * Limits of client connections.
 *
 * @param requestBytesMax largest frame
 * @param idleMs a connection without a byte in either direction is closed after this
 * @param frameMs a frame that has begun must be complete within this
 * @param outputBytesMax bytes of answers (file ranges not counted: they cost no memory) that may wait for a slow reader
 */
public record SocketOptions(int requestBytesMax, int connectionsMax, long idleMs, long frameMs, int outputBytesMax) {
    public static final long FRAME_MS = 30_000;
    public static final int OUTPUT_BYTES_MAX = 1 << 20;

    public SocketOptions(int requestBytesMax, int connectionsMax, long idleMs) {
        this(requestBytesMax, connectionsMax, idleMs, FRAME_MS, OUTPUT_BYTES_MAX);
    }
}
