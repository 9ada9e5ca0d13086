package io.kagami.protocol.codec;

import io.netty.channel.DefaultFileRegion;

/** A file region that returns a lease instead of closing the file, which others still read. */
final class SliceRegion extends DefaultFileRegion {
    private final SliceRecords slice;

    SliceRegion(SliceRecords slice) {
        super(slice.file(), slice.position(), slice.sizeInBytes());
        this.slice = slice;
    }

    @Override
    protected void deallocate() {
        slice.release();
    }
}
