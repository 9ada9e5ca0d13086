package io.kagami.raft.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * Port: one flat directory of files. Nothing is durable before it is forced: bytes by {@link OutFile#force}, creations, renames and
 * deletions by {@link #forceDirectory}.
 */
public interface Disk extends AutoCloseable {
    /** A file open for appending. */
    interface OutFile extends AutoCloseable {
        /** Writes all remaining bytes at the end. */
        void write(ByteBuffer bytes) throws IOException;

        void force() throws IOException;

        @Override
        void close() throws IOException;
    }

    /** Names of the files, in no order. */
    List<String> list() throws IOException;

    byte[] read(String name) throws IOException;

    /** Creates an empty file; one of that name is emptied. */
    OutFile create(String name) throws IOException;

    /** Opens an existing file to append, after cutting it to {@code size} bytes. */
    OutFile append(String name, long size) throws IOException;

    /** Atomic; replaces {@code to}. */
    void rename(String from, String to) throws IOException;

    void delete(String name) throws IOException;

    void forceDirectory() throws IOException;

    /** For messages: where the file is. */
    String describe(String name);

    @Override
    void close() throws IOException;
}
