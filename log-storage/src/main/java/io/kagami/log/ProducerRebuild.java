package io.kagami.log;

import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Brings a table of producers up to date from the batch headers behind the offset it was taken at. */
final class ProducerRebuild {
    private ProducerRebuild() {}

    /** @return false when a segment could not be read to its end, for a batch in it cannot be right */
    static boolean from(long offset, SegmentList segments, ProducerTable table) throws IOException {
        ByteBuffer window = ByteBuffer.allocateDirect(BatchScan.WINDOW_BYTES);
        for (int i = segments.floor(offset); i < segments.count(); i++) {
            Segment segment = segments.get(i);
            BatchScan scan = segment.find(offset, segment.size(), window);
            for (boolean more = scan != null; more; more = scan.next()) {
                ControlRecord control = scan.control(); // may move the window
                if (scan.baseOffset() >= offset) {
                    table.onBatch(scan.header(), scan.at(), control);
                }
            }
            if (scan != null && scan.position() < segment.size()) {
                return false;
            }
        }
        return true;
    }
}
