package io.kagami.broker.api;

import io.kagami.broker.partition.TopicRules;
import io.kagami.log.core.BatchHeader;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.MalformedRecords;
import io.kagami.protocol.records.RecordBatches;
import io.kagami.protocol.records.RecordView;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.apache.kafka.common.protocol.Errors;

/**
 * Whether a client's batch may be appended, decided before its first byte is written: exactly one batch of format 2, whole, with the right
 * checksum, sizes, counts and times, its records readable within a budget. Codes are Apache Kafka 4.4's. Pure but for the stamping of
 * times into the given buffer.
 */
final class ProduceCheck {
    private static final int BASE_OFFSET_LENGTH = 12;
    private static final int CRC_AT = 17;
    private static final int ATTRIBUTES_AT = 21;
    private static final int MAX_TIMESTAMP_AT = 35;
    private static final short LOG_APPEND_TIME = 0x08;
    private static final long NO_TIMESTAMP = -1;
    private static final int ZSTD = 4;
    private static final short ZSTD_FROM = 7;
    private static final int RECORD_ERRORS_MAX = 100;

    /** A record that is at fault, by its place in the batch. */
    record RecordFault(int index, String message) {}

    /**
     * @param error NONE when the batch may be appended
     * @param message null or a sentence
     * @param appendTimeMs the stamped time, -1 when the producer's times stay
     * @param batch what is to be appended: the given bytes, or others when the topic wants another compression; null when refused
     */
    record Verdict(Errors error, String message, List<RecordFault> records, long appendTimeMs, ByteBuffer batch) {
        static Verdict refused(Errors error, String message) {
            return new Verdict(error, message, List.of(), -1, null);
        }

        boolean ok() {
            return error == Errors.NONE;
        }
    }

    /** Ends the reading of records early. */
    private static final class Stop extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Stop() {
            super(null, null, false, false);
        }
    }

    private final TopicRules rules;
    private final int inflatedBytesMax;
    private final long nowMs;

    ProduceCheck(TopicRules rules, int inflatedBytesMax, long nowMs) {
        this.rules = rules;
        this.inflatedBytesMax = inflatedBytesMax;
        this.nowMs = nowMs;
    }

    /** @param records position to limit; neither moves */
    Verdict check(ByteBuffer records, short version) {
        Verdict frame = frame(records, version);
        if (frame != null) {
            return frame;
        }
        Verdict header = header(records, records.position());
        if (header != null) {
            return header;
        }
        return body(records);
    }

    private Verdict frame(ByteBuffer records, short version) {
        int at = records.position();
        int bytes = records.remaining();
        if (bytes == 0) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "Produce requests with version " + version + " must have at least one record batch per partition");
        }
        if (bytes < BatchHeader.MAGIC_END) {
            return Verdict.refused(Errors.CORRUPT_MESSAGE, bytes + " bytes are no record batch");
        }
        int magic = BatchHeader.magic(records, at);
        if (magic != 2) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "Produce requests with version " + version
                            + " are only allowed to contain record batches with magic version 2, not " + magic);
        }
        long size = (long) records.getInt(at + Long.BYTES) + BASE_OFFSET_LENGTH;
        if (size < BatchHeader.V2_HEADER || size > bytes) {
            return Verdict.refused(
                    Errors.CORRUPT_MESSAGE, "a record batch declares " + size + " bytes where " + bytes + " were sent");
        }
        int codec = BatchHeader.compression(records, at);
        if (codec > ZSTD) {
            return Verdict.refused(Errors.UNSUPPORTED_COMPRESSION_TYPE, "there is no compression codec " + codec);
        }
        if (codec == ZSTD && version < ZSTD_FROM) {
            return Verdict.refused(
                    Errors.UNSUPPORTED_COMPRESSION_TYPE,
                    "Produce requests with version " + version + " are not allowed to use ZStandard compression");
        }
        if (size != bytes) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "Produce requests with version " + version
                            + " are only allowed to contain exactly one record batch per partition, but "
                            + (bytes - size)
                            + " bytes follow the first");
        }
        return null;
    }

    private Verdict header(ByteBuffer buf, int at) {
        if (BatchHeader.transactional(buf, at)) {
            return Verdict.refused(
                    Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "transactions are not supported by this broker yet");
        }
        if (BatchHeader.control(buf, at)) {
            return Verdict.refused(Errors.INVALID_RECORD, "Clients are not allowed to write control records");
        }
        if (BatchHeader.baseOffset(buf, at) != 0) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "The baseOffset of the record batch should be 0, but it is " + BatchHeader.baseOffset(buf, at));
        }
        int size = BatchHeader.sizeInBytes(buf, at);
        if (size > rules.batchBytesMax()) {
            return Verdict.refused(
                    Errors.MESSAGE_TOO_LARGE,
                    "The record batch size is " + size + " bytes which exceeds the maximum configured value of "
                            + rules.batchBytesMax());
        }
        if (!BatchHeader.crcValid(buf, at)) {
            return Verdict.refused(Errors.CORRUPT_MESSAGE, "Record is corrupt: its checksum does not match");
        }
        int count = BatchHeader.recordCount(buf, at);
        if (count <= 0 || BatchHeader.lastOffsetDelta(buf, at) != count - 1) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "A batch of " + count + " records cannot have the last offset delta "
                            + BatchHeader.lastOffsetDelta(buf, at));
        }
        if (BatchHeader.producerId(buf, at) >= 0
                && (BatchHeader.baseSequence(buf, at) < 0 || BatchHeader.producerEpoch(buf, at) < 0)) {
            return Verdict.refused(
                    Errors.INVALID_RECORD,
                    "A batch of producer " + BatchHeader.producerId(buf, at) + " needs an epoch and a first sequence");
        }
        // under CreateTime the batch is read with the one time in its header and stored as CreateTime, as in Apache
        // Kafka
        if (BatchHeader.logAppendTime(buf, at)
                && (rules.logAppendTime() || BatchHeader.maxTimestamp(buf, at) == NO_TIMESTAMP)) {
            return Verdict.refused(Errors.INVALID_TIMESTAMP, "A producer may not set the timestamp type LogAppendTime");
        }
        return null;
    }

    private Verdict body(ByteBuffer records) {
        Reading reading = new Reading();
        BatchView batch;
        try {
            batch = RecordBatches.of(records).get(0);
            batch.forEach(new BatchView.Budget(inflatedBytesMax, rules.recordBytesMax()), reading);
        } catch (Stop stop) {
            return reading.verdict();
        } catch (MalformedRecords e) {
            return Verdict.refused(Errors.INVALID_RECORD, e.getMessage());
        }
        if (!reading.faults.isEmpty()) {
            return reading.verdict();
        }
        boolean other = rules.codec().isPresent() && rules.codec().get() != batch.codec();
        ByteBuffer wanted = other ? recompressed(batch) : records;
        int at = wanted.position();
        int size = wanted.remaining();
        if (other && size > rules.batchBytesMax()) {
            return Verdict.refused(
                    Errors.MESSAGE_TOO_LARGE,
                    "The record batch has " + size + " bytes in the topic's compression, which exceeds the maximum"
                            + " configured value of " + rules.batchBytesMax());
        }
        if (rules.logAppendTime()) {
            stamp(wanted, at, (short) (BatchHeader.attributes(wanted, at) | LOG_APPEND_TIME), nowMs);
        } else if (reading.largestTime != BatchHeader.maxTimestamp(wanted, at)
                || BatchHeader.logAppendTime(wanted, at)) {
            // some clients leave it unset; Apache Kafka corrects it as well, since time lookups rely on it
            stamp(wanted, at, (short) (BatchHeader.attributes(wanted, at) & ~LOG_APPEND_TIME), reading.largestTime);
        }
        return new Verdict(Errors.NONE, null, List.of(), rules.logAppendTime() ? nowMs : -1, wanted);
    }

    /** The same records of the same producer, compressed as the topic demands. */
    private ByteBuffer recompressed(BatchView batch) {
        BatchBuilder builder = new BatchBuilder(rules.codec().orElseThrow(), rules.level());
        if (batch.producerId() >= 0) {
            builder.producer(batch.producerId(), batch.producerEpoch(), batch.baseSequence());
        }
        batch.forEach(
                inflatedBytesMax,
                record -> builder.append(record.timestamp(), record.key(), record.value(), record.headers()));
        return builder.build();
    }

    /** Looks at each record. */
    private final class Reading implements Consumer<RecordView> {
        private final List<RecordFault> faults = new ArrayList<>();
        private Errors error = Errors.INVALID_RECORD;
        private int index;
        private long largestTime = -1;

        @Override
        public void accept(RecordView record) {
            if (record.offset() != index) {
                fault("its offset delta is " + record.offset() + " where " + index + " is due");
            } else if (rules.compacted() && record.key() == null) {
                fault("Compacted topic cannot accept message without key");
            } else if (!rules.logAppendTime() && !timely(record.timestamp())) {
                error = Errors.INVALID_TIMESTAMP;
                fault("Timestamp " + record.timestamp() + " of message is out of range: the time of the broker is "
                        + nowMs
                        + ", at most " + rules.timestampBeforeMaxMs() + " ms before and " + rules.timestampAfterMaxMs()
                        + " ms after it are allowed");
            }
            largestTime = Math.max(largestTime, record.timestamp());
            index++;
        }

        /** Records without a time are always taken; other times before 1970 count like any. */
        private boolean timely(long timestamp) {
            if (timestamp == NO_TIMESTAMP) {
                return true;
            }
            long age = nowMs - timestamp; // overflows for times that are no times, as it does in Apache Kafka
            return age <= rules.timestampBeforeMaxMs() && -age <= rules.timestampAfterMaxMs();
        }

        private Verdict verdict() {
            return new Verdict(error, "One or more records have been rejected", List.copyOf(faults), -1, null);
        }

        private void fault(String message) {
            faults.add(new RecordFault(index, message));
            if (faults.size() >= RECORD_ERRORS_MAX) {
                throw new Stop();
            }
        }
    }

    /** Type and time are in the part of the header that the checksum covers, so it is computed anew; the records stay as they are. */
    private static void stamp(ByteBuffer buf, int at, short attributes, long maxTimestamp) {
        buf.putShort(at + ATTRIBUTES_AT, attributes);
        buf.putLong(at + MAX_TIMESTAMP_AT, maxTimestamp);
        CRC32C crc = new CRC32C();
        crc.update(buf.slice(at + ATTRIBUTES_AT, buf.limit() - at - ATTRIBUTES_AT));
        buf.putInt(at + CRC_AT, (int) crc.getValue());
    }
}
