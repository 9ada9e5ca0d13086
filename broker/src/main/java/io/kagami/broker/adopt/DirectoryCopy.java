package io.kagami.broker.adopt;

import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.FileNames;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Copies a partition directory: aside first, every file forced, then renamed, so that it is there as a whole or not at all. */
final class DirectoryCopy {
    /** No directory of a log ends so; a broker does not look at it. */
    private static final String UNFINISHED = ".adopting";

    private static final String INDEX = "index";
    private static final int BLOCK_BYTES = 256 << 10;

    private final FileDisk disk;
    private final ByteBuffer block = ByteBuffer.allocateDirect(BLOCK_BYTES);

    DirectoryCopy(FileDisk disk) {
        this.disk = disk;
    }

    void copy(Path from, Path to) throws IOException {
        Path aside = to.resolveSibling(to.getFileName() + UNFINISHED);
        for (Path leftover : disk.list(aside)) {
            disk.delete(leftover);
        }
        disk.createDirectory(aside);
        for (Path file : disk.list(from)) {
            if (Files.isRegularFile(file) && !file.toString().endsWith(FileNames.DELETED)) {
                Path copy = aside.resolve(file.getFileName());
                copyFile(file, copy);
                Files.setLastModifiedTime(copy, Files.getLastModifiedTime(file));
            }
        }
        disk.forceDirectory(aside);
        disk.rename(aside, to);
        disk.forceDirectory(to.getParent());
    }

    private void copyFile(Path from, Path to) throws IOException {
        // indexes of a broker that crashed have their full size and are mostly holes
        boolean holes = from.getFileName().toString().endsWith(INDEX);
        try (FileChannel in = FileChannel.open(from, StandardOpenOption.READ);
                FileChannel out = FileChannel.open(to, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            long size = in.size();
            long at = 0;
            while (at < size) {
                block.clear().limit((int) Math.min(BLOCK_BYTES, size - at));
                if (in.read(block, at) < 0) {
                    throw new EOFException(from + " became shorter while it was copied");
                }
                block.flip();
                int read = block.remaining();
                // the last byte is always written: it gives the file its size
                if (!holes || at + read == size || !zeros()) {
                    while (block.hasRemaining()) {
                        out.write(block, at + block.position());
                    }
                }
                at += read;
            }
            out.force(true);
        }
    }

    private boolean zeros() {
        for (int i = block.position(); i < block.limit(); i++) {
            if (block.get(i) != 0) {
                return false;
            }
        }
        return true;
    }
}
