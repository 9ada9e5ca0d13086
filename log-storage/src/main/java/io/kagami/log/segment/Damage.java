package io.kagami.log.segment;

import java.io.IOException;

/** Bytes that were once known to be on disk are no batches any more. No retry helps; names file, position and offset. */
public final class Damage extends IOException {
    private static final long serialVersionUID = 1L;

    public Damage(String message) {
        super(message);
    }
}
