package io.kagami.broker.partition;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** Who waits for one partition to change. Any thread; a waiter is woken at most once. */
final class FetchWaiters {
    private record Waiter(long offset, Runnable wake) {}

    private final Map<Long, Waiter> waiting = new ConcurrentHashMap<>();
    private final AtomicLong ids = new AtomicLong();

    /** @return takes the waiter out again, if it has not been woken */
    Runnable add(long offset, Runnable wake) {
        long id = ids.incrementAndGet();
        waiting.put(id, new Waiter(offset, wake));
        return () -> waiting.remove(id);
    }

    /** Wakes those whose offset the log end has passed. */
    void passed(long endOffset) {
        if (waiting.isEmpty()) {
            return;
        }
        waiting.forEach((id, waiter) -> {
            if (waiter.offset < endOffset && waiting.remove(id, waiter)) {
                waiter.wake.run();
            }
        });
    }

    void wakeAll() {
        passed(Long.MAX_VALUE);
    }

    int size() {
        return waiting.size();
    }
}
