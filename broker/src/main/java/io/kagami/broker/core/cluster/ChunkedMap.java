package io.kagami.broker.core.cluster;

import java.util.AbstractMap;
import java.util.AbstractSet;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Set;

/**
 * An immutable hash map whose {@link #with} and {@link #without} share all but one chunk with the original: a change of a map of 10,000
 * entries copies an array of 1,024 references and one chunk of about ten entries. No order. No null keys or values.
 */
final class ChunkedMap<K, V> extends AbstractMap<K, V> {
    private static final int CHUNKS = 1024;
    private static final ChunkedMap<Object, Object> EMPTY = new ChunkedMap<>(emptyChunks(), 0);

    private final Map<K, V>[] chunks;
    private final int size;

    private ChunkedMap(Map<K, V>[] chunks, int size) {
        this.chunks = chunks;
        this.size = size;
    }

    @SuppressWarnings("unchecked")
    static <K, V> ChunkedMap<K, V> empty() {
        return (ChunkedMap<K, V>) EMPTY;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public V get(Object key) {
        return key == null ? null : chunks[chunkOf(key)].get(key);
    }

    @Override
    public boolean containsKey(Object key) {
        return get(key) != null;
    }

    ChunkedMap<K, V> with(K key, V value) {
        int chunk = chunkOf(key);
        Map<K, V> changed = new HashMap<>(chunks[chunk]);
        boolean added = changed.put(key, value) == null;
        return replaced(chunk, changed, added ? 1 : 0);
    }

    ChunkedMap<K, V> without(K key) {
        int chunk = chunkOf(key);
        if (!chunks[chunk].containsKey(key)) {
            return this;
        }
        Map<K, V> changed = new HashMap<>(chunks[chunk]);
        changed.remove(key);
        return replaced(chunk, changed, -1);
    }

    private ChunkedMap<K, V> replaced(int chunk, Map<K, V> changed, int grown) {
        Map<K, V>[] copy = chunks.clone();
        copy[chunk] = changed.isEmpty() ? Map.of() : changed;
        return new ChunkedMap<>(copy, size + grown);
    }

    @Override
    public Set<Entry<K, V>> entrySet() {
        return new AbstractSet<>() {
            @Override
            public int size() {
                return size;
            }

            @Override
            public Iterator<Entry<K, V>> iterator() {
                return new Entries();
            }
        };
    }

    private final class Entries implements Iterator<Entry<K, V>> {
        private int nextChunk;
        private Iterator<Entry<K, V>> inChunk = Map.<K, V>of().entrySet().iterator();

        @Override
        public boolean hasNext() {
            while (!inChunk.hasNext() && nextChunk < CHUNKS) {
                inChunk = chunks[nextChunk++].entrySet().iterator();
            }
            return inChunk.hasNext();
        }

        @Override
        public Entry<K, V> next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Entry<K, V> entry = inChunk.next();
            return Map.entry(entry.getKey(), entry.getValue());
        }
    }

    private static int chunkOf(Object key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return hash >>> 22;
    }

    @SuppressWarnings("unchecked")
    private static Map<Object, Object>[] emptyChunks() {
        Map<Object, Object>[] chunks = (Map<Object, Object>[]) new Map<?, ?>[CHUNKS];
        Arrays.fill(chunks, Map.of());
        return chunks;
    }
}
