package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Producer ids from blocks that are durable in the metadata before the first id of them is handed out, so that none is given twice; what
 * is left of a block at a restart is lost, which costs nothing. Thread-safe.
 */
final class ProducerIds {
    private static final Logger LOG = LoggerFactory.getLogger(ProducerIds.class);
    private static final int BLOCK = 1000;
    private static final int WAITING_MAX = 100_000;

    private final Cluster cluster;
    private final Queue<CompletableFuture<Long>> waiting = new ArrayDeque<>();
    private long next;
    private long end;
    private boolean asking;

    ProducerIds(Cluster cluster) {
        this.cluster = cluster;
    }

    /** Fails when no block can be had now. */
    CompletableFuture<Long> next() {
        CompletableFuture<Long> answer = new CompletableFuture<>();
        boolean ask;
        synchronized (this) {
            if (next < end) {
                return CompletableFuture.completedFuture(next++);
            }
            if (waiting.size() >= WAITING_MAX) {
                return CompletableFuture.failedFuture(new IllegalStateException("too many wait for a producer id"));
            }
            waiting.add(answer);
            ask = !asking;
            asking = true;
        }
        if (ask) {
            ask();
        }
        return answer;
    }

    private void ask() {
        cluster.allocateProducerIds(BLOCK).whenComplete((first, failure) -> {
            if (failure == null) {
                grant(first);
            } else {
                LOG.warn("no block of producer ids: {}", failure.toString());
                fail(failure);
            }
        });
    }

    private void grant(long first) {
        Queue<CompletableFuture<Long>> served = new ArrayDeque<>();
        boolean again;
        synchronized (this) {
            next = first;
            end = first + BLOCK;
            while (!waiting.isEmpty() && next < end) {
                served.add(waiting.remove());
                next++;
            }
            again = !waiting.isEmpty();
            asking = again;
        }
        long id = first;
        for (CompletableFuture<Long> each : served) {
            each.complete(id++);
        }
        if (again) {
            ask();
        }
    }

    private void fail(Throwable failure) {
        Queue<CompletableFuture<Long>> failed;
        synchronized (this) {
            failed = new ArrayDeque<>(waiting);
            waiting.clear();
            asking = false;
        }
        failed.forEach(each -> each.completeExceptionally(failure));
    }
}
