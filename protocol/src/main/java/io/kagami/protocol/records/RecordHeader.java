package io.kagami.protocol.records;

import java.nio.ByteBuffer;

/**
 * A header of a record.
 *
 * @param value null when the header has none
 */
public record RecordHeader(String key, ByteBuffer value) {}
