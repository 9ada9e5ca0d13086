# Reads a topic from its beginning to its end with librdkafka's Python binding; one line a record.
# read.py BOOTSTRAP TOPIC PARTITIONS
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

bootstrap, topic, partitions = sys.argv[1], sys.argv[2], int(sys.argv[3])
consumer = Consumer({
    "bootstrap.servers": bootstrap,
    "group.id": "read-py",
    "enable.auto.commit": False,
    "enable.partition.eof": True,
})
consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in range(partitions)])
lines, ended, idle = [], set(), 0
while len(ended) < partitions:
    message = consumer.poll(1.0)
    if message is None:
        idle += 1
        if idle > 30:
            sys.exit(f"nothing came for 30 s after {len(lines)} records")
        continue
    idle = 0
    if message.error():
        if message.error().code() == -191:  # end of a partition
            ended.add(message.partition())
            continue
        raise KafkaException(message.error())
    lines.append((message.partition(), message.offset(), message.timestamp(), message.headers(), message.key(), message.value()))
consumer.close()
for line in sorted(lines, key=lambda fields: fields[:2]):
    print(*line)
