package io.kagami.mirror;

import io.kagami.protocol.client.Reply;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The life of one answer's buffer: it is given back when it has been walked and every append of it has completed, on whatever thread
 * comes last.
 */
final class FetchAnswer {
    private final Reply reply;
    private final Runnable giveBudget;
    private final Runnable done;
    private final AtomicInteger holders = new AtomicInteger(1);

    FetchAnswer(Reply reply, Runnable giveBudget, Runnable done) {
        this.reply = reply;
        this.giveBudget = giveBudget;
        this.done = done;
    }

    /** An append uses the buffer from now on. */
    void retain() {
        holders.incrementAndGet();
    }

    /** Such an append has completed, well or not. */
    void release() {
        if (holders.decrementAndGet() == 0) {
            reply.close();
            giveBudget.run();
            done.run();
        }
    }

    /** All of it has been looked at. */
    void walked() {
        release();
    }
}
