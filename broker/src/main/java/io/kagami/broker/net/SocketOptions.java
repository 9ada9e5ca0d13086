package io.kagami.broker.net;

/**
 * Limits of client connections.
 *
 * @param requestBytesMax largest frame
 * @param idleMs a connection without a byte in either direction is closed after this
 * @param frameMs a frame that has begun must be complete within this
 * @param outputBytesMax bytes of answers (file ranges not counted: they cost no memory) that may wait for a slow reader
 * @param sendBufferBytes SO_SNDBUF; -1 leaves it to the system. A small one makes sendfile fast where the reader is near: bytes are read while
 *     they are warm, and the two ends do not contend for a queue of megabytes
 * @param receiveBufferBytes SO_RCVBUF; -1 leaves it to the system
 */
public record SocketOptions(
        int requestBytesMax,
        int connectionsMax,
        long idleMs,
        long frameMs,
        int outputBytesMax,
        int sendBufferBytes,
        int receiveBufferBytes) {
    public static final long FRAME_MS = 30_000;
    public static final int OUTPUT_BYTES_MAX = 1 << 20;

    public SocketOptions(
            int requestBytesMax, int connectionsMax, long idleMs, int sendBufferBytes, int receiveBufferBytes) {
        this(requestBytesMax, connectionsMax, idleMs, FRAME_MS, OUTPUT_BYTES_MAX, sendBufferBytes, receiveBufferBytes);
    }
}
