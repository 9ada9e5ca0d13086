package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import java.util.ArrayList;
import java.util.List;

/**
 * Memory for the frames of one connection that did not arrive whole. It grows with the bytes that have arrived, or begins as large as
 * the frames before it were, within a limit: so a peer that announces much and sends nothing costs what it once really sent, at most.
 * With reuse, large buffers come back once nobody holds them any more, which saves the system from mapping and clearing fresh memory for
 * every frame. Event loop only; the buffers handed out may be released by any thread.
 */
final class FrameMemory {
    static final int FIRST_STEP_BYTES = 64 << 10;

    private static final int REUSED_MIN = 256 << 10;
    private static final int ROUND_UP = 1 << 20;
    /** After so many frames without need for a large buffer the kept ones are given up. */
    private static final int SMALL_FRAMES_MAX = 64;

    private final int firstStepMax;
    private final int reusedMax;
    private final List<ByteBuf> kept = new ArrayList<>();
    private int lastWhole;
    private int smallFrames;

    /**
     * @param firstStepMax most bytes taken at once on the strength of the frames before
     * @param reusedMax how many large buffers are kept for reuse; 0 for none
     */
    FrameMemory(int firstStepMax, int reusedMax) {
        this.firstStepMax = firstStepMax;
        this.reusedMax = reusedMax;
    }

    /** Room for the first {@code arrived} bytes of a frame of {@code length}; it may grow to that by {@link #grow}. */
    ByteBuf first(ByteBufAllocator alloc, int length, int arrived) {
        int trusted = Math.max(FIRST_STEP_BYTES, Math.min(firstStepMax, lastWhole));
        if (reusedMax > 0 && length >= REUSED_MIN && length <= roundUp(trusted)) {
            return reused(alloc, length);
        }
        return alloc.directBuffer(Math.min(length, Math.max(trusted, arrived)), length);
    }

    /** The same bytes in a buffer that can take {@code more}; at least doubles it. */
    void grow(ByteBuf frame, int length, int more) {
        long wanted = Math.max(2L * frame.capacity(), (long) frame.writerIndex() + more);
        frame.capacity((int) Math.min(length, wanted));
    }

    private ByteBuf reused(ByteBufAllocator alloc, int length) {
        smallFrames = 0;
        int smaller = -1;
        for (int i = 0; i < kept.size(); i++) {
            ByteBuf each = kept.get(i);
            if (each.refCnt() == 1) {
                if (each.capacity() >= length) {
                    return each.clear().retain();
                }
                smaller = i;
            }
        }
        ByteBuf fresh = alloc.directBuffer(roundUp(length), roundUp(length));
        if (smaller >= 0) {
            kept.set(smaller, fresh).release();
        } else if (kept.size() < reusedMax) {
            kept.add(fresh);
        } else {
            return fresh; // all are in use: this one goes when its reader is done
        }
        return fresh.retain();
    }

    private static int roundUp(int bytes) {
        return (int) Math.min(Integer.MAX_VALUE, ((long) bytes + ROUND_UP - 1) / ROUND_UP * ROUND_UP);
    }

    /** A frame of this length has arrived whole. */
    void whole(int length) {
        // forgets large frames slowly: small ones come between them
        lastWhole = Math.max(length, lastWhole - lastWhole / 4);
        if (length < REUSED_MIN && !kept.isEmpty() && ++smallFrames > SMALL_FRAMES_MAX) {
            release();
        }
    }

    /** Gives up what is kept; buffers that are in use go when their readers are done. */
    void release() {
        kept.forEach(ByteBuf::release);
        kept.clear();
        smallFrames = 0;
    }
}
