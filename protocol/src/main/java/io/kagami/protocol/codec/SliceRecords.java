package io.kagami.protocol.codec;

import java.nio.channels.FileChannel;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.RecordsSend;

/**
 * A range of an open file as the records of a response. The range leaves by sendfile; the lease on the file is returned exactly
 * once, when its bytes are out, or when the response cannot be sent. Safe to release from any thread.
 */
public final class SliceRecords implements BaseRecords {
    private final FileChannel file;
    private final long position;
    private final int sizeInBytes;
    private final Runnable onRelease;
    private final AtomicBoolean released = new AtomicBoolean();

    /**
     * @param position bytes from the start of the file
     * @param onRelease called once; must not throw
     */
    public SliceRecords(FileChannel file, long position, int sizeInBytes, Runnable onRelease) {
        if (position < 0 || sizeInBytes < 0) {
            throw new IllegalArgumentException("position " + position + ", size " + sizeInBytes);
        }
        this.file = file;
        this.position = position;
        this.sizeInBytes = sizeInBytes;
        this.onRelease = onRelease;
    }

    public FileChannel file() {
        return file;
    }

    public long position() {
        return position;
    }

    @Override
    public int sizeInBytes() {
        return sizeInBytes;
    }

    /** Returns the lease; further calls do nothing. */
    public void release() {
        if (released.compareAndSet(false, true)) {
            onRelease.run();
        }
    }

    @Override
    public RecordsSend<SliceRecords> toSend() {
        throw new UnsupportedOperationException("file ranges are sent by PartWritable");
    }

    /** Releases every range that a response holds; for a response that will not be sent. */
    public static void releaseAll(ApiMessage response) {
        if (response instanceof FetchResponseData fetch) {
            for (FetchResponseData.FetchableTopicResponse topic : fetch.responses()) {
                for (FetchResponseData.PartitionData partition : topic.partitions()) {
                    if (partition.records() instanceof SliceRecords slice) {
                        slice.release();
                    }
                }
            }
        }
    }
}
