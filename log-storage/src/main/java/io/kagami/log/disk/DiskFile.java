package io.kagami.log.disk;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** One open file. One writer; {@link #channel()} is for readers of any thread. */
public interface DiskFile extends Closeable {
    /** The name it was opened under. */
    Path path();

    /** For positional reads and sendfile only: writes go through this interface. */
    FileChannel channel();

    long size() throws IOException;

    /** Writes all bytes between position and limit at a byte position of the file, or throws. */
    void write(ByteBuffer source, long position) throws IOException;

    /** Cuts the file to a size; never extends it. */
    void truncate(long size) throws IOException;

    /** Data and size are on disk on return, those written through a mapping included. */
    void force() throws IOException;
}
